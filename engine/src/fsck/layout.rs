//! The directory itself: the `format` file, the note, the directories, and what does not belong there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::format::{self, FORMAT_FILE, Format};
use crate::fsck::findings::{Finding, FindingKind};
use crate::fsck::scan::FoundSegment;
use crate::id::Id;
use crate::index::INDEX_FILE;
use crate::io::{FileKind, Io, Open, bytes_path, is_absent};
use crate::segment::header::{HEADER_BYTES, SegmentHeader};
use crate::segment::parse_segment_name;
use crate::store::{DIRECTORIES, README_FILE, README_TEXT};

/// Finds the directory and refuses what is no store at all. Returns its resolved path.
pub(crate) fn find(io: &Arc<dyn Io>, path: &Path) -> Result<PathBuf> {
    let no_store = || Error::new(ErrorKind::NoStore, "check the store").at(path).cause("there is no store");
    let path = match io.real_path(path) {
        Ok(path) => path,
        Err(error) if is_absent(&error) => return Err(no_store()),
        Err(error) => return Err(Error::io("open the store", path, error)),
    };
    let stat = io.stat(&path).context("look at the store", &path)?;
    if stat.kind != FileKind::Dir {
        return Err(Error::new(ErrorKind::NotAStore, "check the store").at(&path).cause("it is not a directory"));
    }
    let there = |name: &str| io.stat(&path.join(name)).is_ok();
    if there(FORMAT_FILE) || there(INDEX_FILE) || !segment_names(io, &path)?.is_empty() {
        return Ok(path);
    }
    let empty = io.list(&path).context("list", &path)?.is_empty();
    Err(if empty { no_store() } else { Error::new(ErrorKind::NotAStore, "check the store").at(&path) })
}

fn segment_names(io: &Arc<dyn Io>, store: &Path) -> Result<Vec<Id>> {
    let directory = store.join("segments");
    match io.list(&directory) {
        Ok(names) => Ok(names.iter().filter_map(|name| parse_segment_name(name)).collect()),
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        Err(error) => Err(Error::io("list", &directory, error)),
    }
}

/// The format file. A store of a newer format is an error, not a finding: nothing here may judge it.
pub(crate) fn check_format(io: &Arc<dyn Io>, store: &Path, findings: &mut Vec<Finding>) -> Result<Option<Format>> {
    let path = store.join(FORMAT_FILE);
    match format::read(io, store) {
        Ok(Some(format)) => match format.access() {
            Ok(_) => Ok(Some(format)),
            Err(why) => Err(Error::new(ErrorKind::NewerFormat, "check the store").at(path).cause(why)),
        },
        Ok(None) => {
            findings.push(Finding::new(FindingKind::Format, "the format file is missing").at(path));
            Ok(None)
        }
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            findings.push(Finding::new(FindingKind::Format, "the format file is damaged").at(path));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The identifier that the headers of the segments give, if they agree.
pub(crate) fn store_of_segments(io: &Arc<dyn Io>, store: &Path) -> Result<Option<Id>> {
    let mut ids = Vec::new();
    for id in segment_names(io, store)? {
        let path = crate::segment::segment_path(store, id);
        let Ok(file) = io.open(&path, Open::Read) else { continue };
        let Ok(bytes) = file.read_to_end(0, HEADER_BYTES as u64) else { continue };
        let Some(header) = SegmentHeader::parse(&bytes).filter(|header| header.segment == id) else { continue };
        if header.version > crate::format::FORMAT_VERSION {
            return Err(Error::new(ErrorKind::NewerFormat, "check the store")
                .at(path)
                .cause(format!("a segment has format {}", header.version)));
        }
        ids.push(header.store);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(if ids.len() == 1 { ids.pop() } else { None })
}

/// Whether segments belong to the store that the format file names. If none does, the file is the one that is wrong.
pub(crate) fn check_owner(format: &Format, segments: &[FoundSegment], store: &Path, findings: &mut Vec<Finding>) {
    let of_others = |segment: &&FoundSegment| segment.header.is_some_and(|header| header.store != format.store);
    let ours = segments.iter().any(|segment| segment.header.is_some_and(|header| header.store == format.store));
    let kind = if ours { FindingKind::ForeignFile } else { FindingKind::Format };
    for segment in segments.iter().filter(of_others) {
        let text = format!("the segment does not belong to the store {} that the format file names", format.store);
        let path = crate::segment::segment_path(store, segment.id);
        findings.push(Finding::new(kind, text).at(path).in_segment(segment.id, 0));
    }
}

/// The note and the directories.
pub(crate) fn check_layout(io: &Arc<dyn Io>, store: &Path, findings: &mut Vec<Finding>) -> Result<()> {
    for name in DIRECTORIES {
        let path = store.join(name);
        if !io.stat(&path).is_ok_and(|stat| stat.kind == FileKind::Dir) {
            findings.push(Finding::new(FindingKind::Directory, "a directory of the store is missing").at(path));
        }
    }
    if !readme_is_whole(io, store) {
        let finding = Finding::new(FindingKind::Readme, "the note for people is missing or was changed");
        findings.push(finding.at(store.join(README_FILE)));
    }
    for name in io.list(store).context("list", store)? {
        let path = store.join(bytes_path(&name));
        let ours = DIRECTORIES.iter().any(|known| known.as_bytes() == name)
            || [README_FILE, INDEX_FILE, FORMAT_FILE].iter().any(|known| known.as_bytes() == name);
        if name.ends_with(b".tmp") {
            findings.push(Finding::new(FindingKind::Leftover, "a temporary file was left behind").at(path));
        } else if !ours {
            findings.push(Finding::new(FindingKind::ForeignFile, "this is not a file of the store").at(path));
        }
    }
    Ok(())
}

/// Whether the note says what it should.
pub(crate) fn readme_is_whole(io: &Arc<dyn Io>, store: &Path) -> bool {
    let length = README_TEXT.len() as u64 + 1;
    io.open(&store.join(README_FILE), Open::Read)
        .and_then(|file| file.read_to_end(0, length))
        .is_ok_and(|bytes| bytes == README_TEXT.as_bytes())
}
