//! Overwriting a file whose name cannot be replaced: a bind mount, or a directory that takes no new names.
//!
//! There is a moment at which the file is a mixture of both contents. So the journal says beforehand that it is about to
//! be overwritten, both contents are in the store by then, and room for the new one is made first: a full disk leaves
//! the file as it was.

use std::io::{self, Write};
use std::sync::Arc;

use crate::error::{Error, IoContext as _, Result};
use crate::io::File;
use crate::workspace::found::{FoundFile, Source, find_open};
use crate::workspace::write::{Backing, Occupant, Outcome, Place, fill_file, keep_unexpected};

/// Zeros written at a time to make room.
const ROOM_BYTES: usize = 64 << 10;

/// Counts what is written.
struct Counted<W> {
    out: W,
    count: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Overwrites an existing file.
pub(crate) fn write_in_place(place: &Place, mode: u32, backing: &mut dyn Backing) -> Result<Outcome> {
    let path = place.path();
    let file = place.dir.open_file_write(&place.name).context("open for writing", &path)?;
    let file: Arc<dyn File> = file.into();
    let old = match find_open(&file).into() {
        Occupant::File(found) => found,
        Occupant::LeftAlone(outcome) => return Ok(outcome),
        Occupant::Nobody => return Err(Error::io("overwrite", &path, io::ErrorKind::NotFound.into())),
    };
    keep_unexpected(backing, &old)?;
    // Hashed and measured before a byte of the file changes: a damaged content must not reach it.
    let mut measured = Counted { out: io::sink(), count: 0 };
    backing.fill(&mut measured)?;
    let new_len = measured.count;
    backing.begin_in_place()?;
    let written = make_room(&*file, old.stat.size, new_len)
        .context("make room in", &path)
        .map_err(|error| (error, file.set_len(old.stat.size)))
        .and_then(|()| overwrite(&*file, place, new_len, backing).map_err(|error| (error, put_back(&*file, &old))));
    if let Err((error, put_back)) = written {
        if put_back.is_ok() {
            backing.end_in_place();
        }
        return Err(error);
    }
    backing.end_in_place();
    file.set_mode(mode).context("set the mode of", &path)?;
    file.sync_data().context("sync", &path)?;
    Ok(Outcome::Done)
}

/// Takes up the space that the new content needs beyond the old one, where a full disk still does no harm.
fn make_room(file: &dyn File, old_len: u64, new_len: u64) -> io::Result<()> {
    let zeros = vec![0; ROOM_BYTES];
    let mut at = old_len;
    while at < new_len {
        let count = (new_len - at).min(ROOM_BYTES as u64);
        file.write_all_at(&zeros[..count as usize], at)?;
        at += count;
    }
    // Some file systems take space only when they write.
    if new_len > old_len { file.sync_data() } else { Ok(()) }
}

fn overwrite(file: &dyn File, place: &Place, new_len: u64, backing: &mut dyn Backing) -> Result<()> {
    fill_file(place, file, backing)?;
    file.set_len(new_len).context("cut", &place.path())?;
    file.sync_data().context("sync", &place.path())
}

/// Writes the old bytes again after a failure. Contents that are too large for memory wait for the journal.
fn put_back(file: &dyn File, old: &FoundFile) -> io::Result<()> {
    let Source::Bytes(bytes) = &old.source else { return Err(io::ErrorKind::FileTooLarge.into()) };
    file.write_all_at(bytes, 0)?;
    file.set_len(old.stat.size)?;
    file.sync_data()
}
