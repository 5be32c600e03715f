//! The `format` file: one line of text that says what the directory is and which programs may use it.
//!
//! It is read before anything else is opened, and again inside each write transaction, so that a program that is too
//! old stops before it can misunderstand a byte.

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::hash::hex_encode;
use crate::id::Id;
use crate::io::{Io, Open, is_absent};

/// Name of the file in the store.
pub(crate) const FORMAT_FILE: &str = "format";

/// Version of the bytes on disk that this program writes.
pub const FORMAT_VERSION: u32 = 1;

/// Version of the rules by which processes share a store.
pub const PROTOCOL_VERSION: u32 = 1;

/// The file is one short line; more is damage.
const LINE_BYTES_MAX: u64 = 4096;

/// What the `format` file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Version of the bytes on disk.
    pub format: u32,
    /// Version of the rules between processes.
    pub protocol: u32,
    /// Features without which the store must be neither read nor written.
    pub incompatible: Vec<String>,
    /// Features without which the store may be read but not written.
    pub read_only: Vec<String>,
    /// Identifier of the store; segments and index repeat it.
    pub store: Id,
}

/// What this program may do with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    Full,
    /// Reading only, for the reason given.
    ReadOnly(String),
}

impl Format {
    /// The format of a new store.
    pub(crate) fn new(store: Id) -> Self {
        Self {
            format: FORMAT_VERSION,
            protocol: PROTOCOL_VERSION,
            incompatible: Vec::new(),
            read_only: Vec::new(),
            store,
        }
    }

    /// The line, with its check at the end.
    pub fn to_line(&self) -> String {
        let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(",") };
        let text = format!(
            "candy-store format {} protocol {} needs {} writers-need {} id {}",
            self.format,
            self.protocol,
            list(&self.incompatible),
            list(&self.read_only),
            self.store
        );
        format!("{text} check {}\n", check(&text))
    }

    /// Parses a line that [`Format::to_line`] could have written.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (text, sum) = line.rsplit_once(" check ")?;
        if sum != check(text) {
            return None;
        }
        let words: Vec<&str> = text.split(' ').collect();
        let ["candy-store", "format", format, "protocol", protocol, "needs", needs, "writers-need", writers, "id", id] =
            words[..]
        else {
            return None;
        };
        let list = |names: &str| {
            if names == "-" { Vec::new() } else { names.split(',').map(str::to_owned).collect() }
        };
        let parsed = Self {
            format: format.parse().ok()?,
            protocol: protocol.parse().ok()?,
            incompatible: list(needs),
            read_only: list(writers),
            store: Id::from_hex(id)?,
        };
        (parsed.to_line().as_bytes() == [line.as_bytes(), b"\n"].concat()).then_some(parsed)
    }

    /// What this program may do with it.
    pub fn access(&self) -> std::result::Result<Access, String> {
        if self.format > FORMAT_VERSION {
            return Err(format!("it has format {}, this program knows up to {FORMAT_VERSION}", self.format));
        }
        if let Some(feature) = self.incompatible.first() {
            return Err(format!("it needs the feature '{feature}', which this program does not know"));
        }
        if self.protocol > PROTOCOL_VERSION {
            return Ok(Access::ReadOnly(format!(
                "it is shared by protocol {}, newer than this program",
                self.protocol
            )));
        }
        if let Some(feature) = self.read_only.first() {
            return Ok(Access::ReadOnly(format!("writing it needs the feature '{feature}'")));
        }
        Ok(Access::Full)
    }
}

fn check(text: &str) -> String {
    hex_encode(&blake3::hash(text.as_bytes()).as_bytes()[..4])
}

/// Reads the `format` file of a store; `None` when there is none.
pub(crate) fn read(io: &Arc<dyn Io>, store: &Path) -> Result<Option<Format>> {
    let path = store.join(FORMAT_FILE);
    let file = match io.open(&path, Open::Read) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Error::io("open", &path, error)),
    };
    let line = file.read_to_end(0, LINE_BYTES_MAX).context("read", &path)?;
    match Format::parse(&line) {
        Some(format) => Ok(Some(format)),
        None => Err(Error::new(ErrorKind::Corrupt, "read the format of the store")
            .at(&path)
            .cause("the line is damaged or was written by another program")
            .with_hint("run `candy-store fsck --repair`")),
    }
}

/// Writes the `format` file under a temporary name and renames it: it is there whole or not at all.
pub(crate) fn write(io: &Arc<dyn Io>, store: &Path, format: &Format) -> Result<()> {
    let path = store.join(FORMAT_FILE);
    let temporary = store.join(format!("{FORMAT_FILE}.{}.tmp", Id::random()));
    let file = io.open(&temporary, Open::CreateNew).context("create", &temporary)?;
    file.write_all_at(format.to_line().as_bytes(), 0).context("write", &temporary)?;
    file.sync_data().context("sync", &temporary)?;
    io.rename(&temporary, &path).context("rename", &temporary)?;
    io.sync_dir(store).context("sync", store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_goes_there_and_back() {
        let mut format = Format::new(Id::from_bytes([7; 16]));
        format.read_only = vec!["a".into(), "b".into()];
        assert_eq!(Format::parse(format.to_line().as_bytes()), Some(format));
    }

    #[test]
    fn every_flipped_bit_of_the_line_is_noticed() {
        let line = Format::new(Id::from_bytes([7; 16])).to_line().into_bytes();
        for bit in 0..line.len() * 8 {
            let mut bad = line.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Format::parse(&bad), None, "bit {bit}");
        }
    }

    #[test]
    fn newer_formats_are_refused_and_newer_protocols_are_read_only() {
        let mut format = Format::new(Id::from_bytes([7; 16]));
        assert_eq!(format.access(), Ok(Access::Full));
        format.protocol += 1;
        assert!(matches!(format.access(), Ok(Access::ReadOnly(_))));
        format.format += 1;
        assert!(format.access().is_err());
    }
}
