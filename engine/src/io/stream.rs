//! `std::io` streams over positioned files.

use std::io;

use super::File;

/// Reads a file from an offset on.
pub(crate) struct Reader<'a, F: File + ?Sized> {
    file: &'a F,
    offset: u64,
}

impl<'a, F: File + ?Sized> Reader<'a, F> {
    pub(crate) fn new(file: &'a F, offset: u64) -> Self {
        Self { file, offset }
    }
}

impl<F: File + ?Sized> io::Read for Reader<'_, F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buf, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Writes a file from an offset on.
pub(crate) struct Writer<'a> {
    file: &'a dyn File,
    offset: u64,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(file: &'a dyn File, offset: u64) -> Self {
        Self { file, offset }
    }
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
