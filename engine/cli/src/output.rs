//! Where text goes: data to stdout, everything else to stderr.

use std::io::{self, IsTerminal as _, Write};

use serde::Serialize;

use crate::args::Global;
use crate::failure::Result;
use crate::style::Paint;
use crate::text::printable;

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// Narrower terminals are treated as this wide: a table must have some room.
const COLUMNS_MIN: usize = 40;

/// The two streams, and how they are written to.
pub(crate) struct Output {
    stdout: io::BufWriter<io::Stdout>,
    /// Print JSON.
    pub(crate) json: bool,
    /// Print raw paths with NUL.
    pub(crate) null: bool,
    /// Print no progress, notes or headings.
    pub(crate) quiet: bool,
    /// Print more.
    pub(crate) verbose: bool,
    /// Colours of stdout.
    pub(crate) paint: Paint,
    /// Colours of stderr.
    pub(crate) paint_err: Paint,
    /// Columns of the terminal that stdout is; `None` when it is none.
    pub(crate) columns: Option<usize>,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let stdout = io::stdout();
        let columns = stdout
            .is_terminal()
            .then(|| terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)).max(COLUMNS_MIN));
        Self {
            json: global.json,
            null: global.null,
            quiet: global.quiet,
            verbose: global.verbose,
            paint: Paint::decide(global.color, &stdout),
            paint_err: Paint::decide(global.color, &io::stderr()),
            columns,
            stdout: io::BufWriter::with_capacity(BUFFER_BYTES, stdout),
        }
    }

    /// A line of text.
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.stdout, "{text}")?)
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stdout.write_all(bytes)?)
    }

    /// Everything of a reader.
    pub(crate) fn copy_from(&mut self, reader: &mut dyn io::Read) -> Result<()> {
        io::copy(reader, &mut self.stdout)?;
        Ok(())
    }

    /// A raw path and a NUL byte.
    pub(crate) fn raw_path(&mut self, path: &[u8]) -> Result<()> {
        self.bytes(path)?;
        self.bytes(b"\0")
    }

    /// One line of JSON.
    pub(crate) fn document(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.stdout, value).map_err(io::Error::from)?;
        self.bytes(b"\n")
    }

    /// Something worth knowing, unless `-q`.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.say(&printable(text));
        }
    }

    /// Something only `-v` asks for.
    pub(crate) fn detail(&mut self, text: &str) {
        if self.verbose {
            let text = self.paint_err.dim(&printable(text));
            self.say(&text);
        }
    }

    /// Something that needs attention, also with `-q`.
    pub(crate) fn warn(&mut self, text: &str) {
        let text = format!("{} {}", self.paint_err.warning("warning:"), printable(text));
        self.say(&text);
    }

    /// A line to stderr, after what was printed before.
    pub(crate) fn say(&mut self, text: &str) {
        // Both streams usually are one terminal: keep the order. A failure shows at the next write to stdout, and there
        // is no place to complain about stderr.
        let _ = self.stdout.flush();
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Writes out what was gathered.
    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(self.stdout.flush()?)
    }
}
