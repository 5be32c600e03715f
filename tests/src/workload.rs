//! Source-like text files, and the small edits that make their next versions.
//!
//! The text imitates what matters to a store of versions: lines of some 35 bytes, a vocabulary per file of which few
//! names make up most uses, indentation, idioms that repeat. zstd alone makes it 3 to 5 times smaller, as it does with
//! real sources. An edit replaces, inserts or deletes 1 to 8 lines in one or two places.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::rng::Rng;

const WORDS: &[&str] = &[
    "account", "action", "address", "amount", "anchor", "array", "attach", "batch", "border", "branch", "bridge",
    "bucket", "buffer", "build", "cache", "cancel", "change", "channel", "check", "child", "client", "close",
    "cluster", "code", "color", "column", "commit", "config", "context", "copy", "count", "create", "cursor", "data",
    "date", "decode", "delay", "depth", "device", "digest", "draw", "driver", "edge", "edit", "element", "emit",
    "encode", "entry", "error", "event", "export", "fetch", "field", "file", "filter", "find", "flag", "flush",
    "folder", "format", "frame", "graph", "group", "handle", "header", "height", "index", "input", "insert", "item",
    "join", "key", "label", "layer", "layout", "leaf", "length", "level", "limit", "line", "list", "load", "lock",
    "log", "map", "margin", "match", "merge", "message", "method", "mode", "model", "name", "node", "notice", "number",
    "object", "offset", "open", "option", "order", "output", "owner", "packet", "page", "panel", "parent", "parse",
    "part", "path", "pixel", "place", "plan", "point", "port", "print", "process", "prompt", "query", "queue", "range",
    "rate", "read", "record", "render", "reply", "report", "request", "reset", "result", "retry", "role", "root",
    "route", "row", "rule", "scan", "schema", "scope", "score", "screen", "search", "segment", "select", "sender",
    "session", "setting", "shape", "share", "sheet", "signal", "size", "slot", "sort", "source", "span", "stack",
    "stage", "state", "status", "step", "store", "stream", "string", "style", "table", "target", "task", "text",
    "theme", "thread", "time", "token", "tool", "trace", "track", "tree", "type", "unit", "update", "user", "value",
    "vector", "verify", "version", "view", "wait", "weight", "width", "window", "worker", "write", "zone",
];

/// One source file that can be edited.
#[derive(Debug, Clone)]
pub struct SourceText {
    names: Vec<String>,
    lines: Vec<String>,
}

impl SourceText {
    /// Writes a file of at least `bytes` bytes, and less than one line more.
    pub fn generate(rng: &mut Rng, bytes: usize) -> Self {
        // Larger files know more names; the square root is what vocabularies of real files roughly follow.
        let name_count = 24 + (bytes as f64).sqrt() as usize;
        let names = vocabulary(rng, name_count);
        let mut text = Self { names, lines: Vec::new() };
        let mut size = 0;
        let mut indent = 0;
        while size < bytes {
            let line = text.next_line(rng, &mut indent);
            size += line.len() + 1;
            text.lines.push(line);
        }
        text
    }

    /// Makes the next version: 1 to 8 lines in one place, sometimes in two.
    pub fn edit(&mut self, rng: &mut Rng) {
        let total = rng.within(1..=8);
        let near = if total > 1 && rng.percent(35) { rng.within(1..=total - 1) } else { total };
        let at = rng.below(self.lines.len().max(1));
        self.edit_cluster(rng, at, near);
        if near < total {
            // The second place is most often close by: a signature and its use.
            let distance = rng.within(5..=60);
            self.edit_cluster(rng, at + distance, total - near);
        }
    }

    /// The file's bytes, every line ended by a newline.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.lines.iter().map(|line| line.len() + 1).sum());
        for line in &self.lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }

    fn edit_cluster(&mut self, rng: &mut Rng, at: usize, count: usize) {
        let at = at.min(self.lines.len().saturating_sub(1));
        let end = (at + count).min(self.lines.len());
        let indent = self.lines.get(at).map_or(0, |line| indent_of(line));
        match rng.below(100) {
            0..=27 => {
                let fresh: Vec<String> = (0..count).map(|_| self.statement(rng, indent)).collect();
                self.lines.splice(at..at, fresh);
            }
            // Deleting is rarer than inserting: files grow over their life, slowly.
            28..=49 if self.lines.len() > 40 => {
                self.lines.drain(at..end);
            }
            _ => {
                for line in at..end {
                    self.lines[line] = self.reworded(rng, line);
                }
            }
        }
    }

    /// Half of the changed lines keep most of their words: a name or a number is another one.
    fn reworded(&self, rng: &mut Rng, line: usize) -> String {
        let old = &self.lines[line];
        if rng.percent(50) {
            let start = old.len() - old.trim_start().len();
            let words: Vec<&str> = old.trim_start().split(' ').collect();
            let changed = rng.below(words.len());
            let mut text = old[..start].to_owned();
            for (position, word) in words.iter().enumerate() {
                if position > 0 {
                    text.push(' ');
                }
                text.push_str(if position == changed { self.name(rng) } else { word });
            }
            if text != *old {
                return text;
            }
        }
        let fresh = self.statement(rng, indent_of(old));
        if fresh == *old { format!("{fresh} // {}", self.name(rng)) } else { fresh }
    }

    fn name(&self, rng: &mut Rng) -> &str {
        &self.names[rng.skewed(self.names.len())]
    }

    /// One more line of a file that is being written from top to bottom.
    fn next_line(&self, rng: &mut Rng, indent: &mut usize) -> String {
        if *indent == 0 {
            return match rng.below(12) {
                0 => format!("import {{ {} }} from \"./{}.js\";", self.name(rng), pick_word(rng)),
                1..=3 => prose(rng, "/// "),
                4..=5 => String::new(),
                _ => {
                    *indent = 1;
                    let (name, first, second) = (self.name(rng), self.name(rng), self.name(rng));
                    format!("export function {name}({first}: {}, {second}: number): {} {{", capital(rng), capital(rng))
                }
            };
        }
        match rng.below(100) {
            0..=12 => {
                *indent -= 1;
                format!("{}}}", "\t".repeat(*indent))
            }
            13..=24 if *indent < 5 => {
                let line = self.opening(rng, *indent);
                *indent += 1;
                line
            }
            25..=30 => prose(rng, &format!("{}// ", "\t".repeat(*indent))),
            31..=33 => String::new(),
            _ => self.statement(rng, *indent),
        }
    }

    fn opening(&self, rng: &mut Rng, indent: usize) -> String {
        let tabs = "\t".repeat(indent);
        let (a, b) = (self.name(rng), self.name(rng));
        match rng.below(5) {
            0 => format!("{tabs}if ({a} === undefined) {{"),
            1 => format!("{tabs}if ({a}.{b} > {}) {{", rng.below(64)),
            2 => format!("{tabs}for (const {a} of {b}.{}) {{", self.name(rng)),
            3 => format!("{tabs}while ({a} < {b}.length) {{"),
            _ => format!("{tabs}const {a} = async ({b}) => {{"),
        }
    }

    fn statement(&self, rng: &mut Rng, indent: usize) -> String {
        let tabs = "\t".repeat(indent);
        let (a, b, c) = (self.name(rng), self.name(rng), self.name(rng));
        match rng.below(14) {
            0 => format!("{tabs}const {a} = {b}.{c};"),
            1 => format!("{tabs}const {a} = await this.{b}({c});"),
            2 => format!("{tabs}{a}.{b} = {c};"),
            3 => format!("{tabs}{a}.{b}({c}, {});", rng.below(1000)),
            4 => format!("{tabs}return {a}.{b}({c});"),
            5 => format!("{tabs}if (!{a}) return undefined;"),
            6 => format!("{tabs}this.{a} = new {}({b}, {c});", capital(rng)),
            7 => format!("{tabs}throw new Error(`{} {} ${{{a}}}`);", pick_word(rng), pick_word(rng)),
            8 => format!("{tabs}let {a} = {b}.length - {};", rng.below(16)),
            9 => format!("{tabs}{a}.push({{ {b}, {c}: {} }});", rng.below(256)),
            10 => format!("{tabs}assert.equal({a}.{b}, {c});"),
            11 => format!("{tabs}this.log.debug(\"{} {}\", {a}, {b});", pick_word(rng), pick_word(rng)),
            12 => format!("{tabs}{a} = {b} ?? {c};"),
            _ => format!("{tabs}const {{ {a}, {b} }} = {c};"),
        }
    }
}

/// One version of one file of a [`History`].
#[derive(Debug, Clone)]
pub struct Version {
    /// Which file, from 0.
    pub file: usize,
    /// How many versions the file had before.
    pub number: usize,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// What a history looks like.
#[derive(Debug, Clone, Copy)]
pub struct HistoryShape {
    /// Same seed, same bytes.
    pub seed: u64,
    /// How many files are being edited.
    pub files: usize,
    /// How many versions there are in all, first ones included.
    pub versions: usize,
    /// Size of an average file; single files have 0.4 to 1.6 times that.
    pub mean_bytes: usize,
}

/// The versions of some files in the order in which an agent would write them.
#[derive(Debug)]
pub struct History {
    rng: Rng,
    files: Vec<(SourceText, usize)>,
    left: usize,
}

impl History {
    /// Writes the first versions.
    pub fn new(shape: HistoryShape) -> Self {
        let mut rng = Rng::new(shape.seed);
        let files = (0..shape.files)
            .map(|file| {
                // Spread evenly around the mean, so that the mean is met whatever the seed.
                let spread = 40 + 120 * (2 * file + 1) / (2 * shape.files);
                (SourceText::generate(&mut rng, shape.mean_bytes * spread / 100), 0)
            })
            .collect();
        Self { rng, files, left: shape.versions }
    }
}

impl Iterator for History {
    type Item = Version;

    fn next(&mut self) -> Option<Version> {
        self.left = self.left.checked_sub(1)?;
        // First every file appears once; then files are edited at random.
        let unseen = self.files.iter().position(|(_, versions)| *versions == 0);
        let file = unseen.unwrap_or_else(|| self.rng.below(self.files.len()));
        let (text, versions) = &mut self.files[file];
        if *versions > 0 {
            text.edit(&mut self.rng);
        }
        *versions += 1;
        Some(Version { file, number: *versions - 1, bytes: text.bytes() })
    }
}

/// A file of a project: a relative path and its contents.
#[derive(Debug, Clone)]
pub struct ProjectFile {
    /// Relative, with forward slashes.
    pub path: PathBuf,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// Makes `files` different source files of about `bytes` bytes each, some 20 in a directory, two levels deep.
pub fn project(seed: u64, files: usize, bytes: usize) -> Vec<ProjectFile> {
    let mut rng = Rng::new(seed);
    (0..files)
        .map(|number| {
            let directory = number / 20;
            let path = format!("src/part{:02}/unit{:02}/file{number:04}.ts", directory / 10, directory % 10);
            ProjectFile { path: PathBuf::from(path), bytes: SourceText::generate(&mut rng, bytes).bytes() }
        })
        .collect()
}

/// Writes a project below `root` and waits until the disk has it: a measurement that follows must not pay for it.
///
/// # Panics
/// When a file cannot be written.
pub fn write_project(root: &Path, files: &[ProjectFile]) {
    let mut directories = HashSet::new();
    for file in files {
        let path = root.join(&file.path);
        let directory = path.parent().expect("a joined path has a parent").to_owned();
        if !directories.contains(&directory) {
            std::fs::create_dir_all(&directory).unwrap();
            directories.insert(directory);
        }
        std::fs::write(&path, &file.bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
    // `sync` is one call for the whole disk; a thousand single fsyncs would take seconds.
    let _ = std::process::Command::new("sync").status();
}

fn vocabulary(rng: &mut Rng, count: usize) -> Vec<String> {
    let mut names = Vec::with_capacity(count);
    while names.len() < count {
        let mut name = pick_word(rng).to_owned();
        for _ in 0..rng.below(3) {
            name.push_str(&title(pick_word(rng)));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn pick_word(rng: &mut Rng) -> &'static str {
    WORDS[rng.below(WORDS.len())]
}

fn title(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

fn capital(rng: &mut Rng) -> String {
    // Types come from a short list: a file names the same few again and again.
    title(WORDS[rng.skewed(40) * 5 % WORDS.len()])
}

fn prose(rng: &mut Rng, start: &str) -> String {
    const GLUE: &[&str] = &["the", "a", "of", "is", "to", "and", "when", "for", "not", "with"];
    let mut text = start.to_owned();
    for word in 0..rng.within(4..=10) {
        if word > 0 {
            text.push(' ');
        }
        text.push_str(if rng.percent(45) { GLUE[rng.skewed(GLUE.len())] } else { WORDS[rng.skewed(WORDS.len())] });
    }
    text
}

fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|&byte| byte == b'\t').count()
}

#[cfg(test)]
mod tests {
    use super::{History, HistoryShape, Version, project};

    const SHAPE: HistoryShape = HistoryShape { seed: 7, files: 30, versions: 600, mean_bytes: 25_000 };

    fn zstd_size(bytes: &[u8]) -> usize {
        zstd::bulk::compress(bytes, 3).expect("compressing memory").len()
    }

    #[test]
    fn a_history_is_the_same_for_the_same_seed() {
        let one: Vec<Version> = History::new(SHAPE).take(100).collect();
        let two: Vec<Version> = History::new(SHAPE).take(100).collect();
        assert!(one.iter().zip(&two).all(|(a, b)| a.bytes == b.bytes && a.file == b.file));
        let other: Vec<Version> = History::new(HistoryShape { seed: 8, ..SHAPE }).take(1).collect();
        assert_ne!(one[0].bytes, other[0].bytes);
    }

    #[test]
    fn versions_have_the_promised_mean_size_and_compress_like_sources() {
        let versions: Vec<Version> = History::new(SHAPE).collect();
        assert_eq!(versions.len(), SHAPE.versions);
        let plain: usize = versions.iter().map(|version| version.bytes.len()).sum();
        let mean = plain / versions.len();
        assert!((22_500..27_500).contains(&mean), "mean size {mean}");
        let packed: usize = versions.iter().step_by(7).map(|version| zstd_size(&version.bytes)).sum();
        let sampled: usize = versions.iter().step_by(7).map(|version| version.bytes.len()).sum();
        let ratio = sampled as f64 / packed as f64;
        println!("zstd alone: {ratio:.2}x");
        assert!((3.0..5.0).contains(&ratio), "zstd alone: {ratio:.2}x");
    }

    #[test]
    fn a_version_differs_from_the_one_before_by_a_few_lines() {
        let mut last: Vec<Option<Vec<u8>>> = vec![None; SHAPE.files];
        for version in History::new(SHAPE) {
            if let Some(old) = last[version.file].replace(version.bytes.clone()) {
                assert_ne!(old, version.bytes, "an edit must change something");
                let old_lines: Vec<&[u8]> = old.split(|&byte| byte == b'\n').collect();
                let new_lines: Vec<&[u8]> = version.bytes.split(|&byte| byte == b'\n').collect();
                let same_start = old_lines.iter().zip(&new_lines).take_while(|(a, b)| a == b).count();
                let same_end = old_lines.iter().rev().zip(new_lines.iter().rev()).take_while(|(a, b)| a == b).count();
                assert!(old_lines.len() < same_start + same_end + 80, "edits are clustered");
            }
        }
    }

    #[test]
    fn project_files_differ_and_have_the_size_asked_for() {
        let files = project(3, 100, 8192);
        let mut paths: Vec<_> = files.iter().map(|file| &file.path).collect();
        paths.dedup();
        assert_eq!(paths.len(), 100);
        assert!(files.iter().all(|file| (8192..8400).contains(&file.bytes.len())));
        assert_ne!(files[0].bytes, files[1].bytes);
    }
}
