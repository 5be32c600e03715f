//! Differences as text: a patch that `git apply` and `patch -p1` understand, or a summary by file.

use std::fmt::Write as _;
use std::time::Instant;

use candy_store::Store;
use candy_store::lines::{self, Labels, LineCounts};
use candy_store::tree::{Entry, TrackedPath};

use crate::compare::{Change, ChangeKind, Content, Side};
use crate::failure::Result;
use crate::json::shown_bytes;
use crate::style::Paint;
use crate::text::{count, cut, files, printable_bytes, width};

/// Lines around each change.
const CONTEXT_LINES: usize = 3;

/// The name in a head line, quoted as git does when it holds bytes that would break the line.
fn quoted(prefix: &str, path: &[u8]) -> String {
    let mut name = prefix.as_bytes().to_vec();
    name.extend_from_slice(path);
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\') || *byte >= 0x80;
    if name.iter().all(plain)
        && let Ok(text) = std::str::from_utf8(&name)
    {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for byte in name {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x20..0x7f => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

fn git_mode(entry: Option<&Entry>) -> Option<u32> {
    match entry {
        Some(Entry::File { mode, .. }) => Some(*mode & 0o777),
        _ => None,
    }
}

/// The head of a file's difference.
fn head(change: &Change) -> Vec<String> {
    let path = shown_bytes(&change.path);
    let mut lines = vec![format!("diff --git {} {}", quoted("a/", &path), quoted("b/", &path))];
    match (git_mode(change.old.as_ref()), git_mode(change.new.as_ref())) {
        (None, Some(mode)) => lines.push(format!("new file mode 100{mode:03o}")),
        (Some(mode), None) => lines.push(format!("deleted file mode 100{mode:03o}")),
        (Some(old), Some(new)) if old != new => {
            lines.push(format!("old mode 100{old:03o}"));
            lines.push(format!("new mode 100{new:03o}"));
        }
        _ => {}
    }
    lines
}

/// The two name lines above the first hunk.
fn name_lines(change: &Change) -> [String; 2] {
    let path = shown_bytes(&change.path);
    let name = |prefix: &str, entry: Option<&Entry>| {
        if git_mode(entry).is_some() { quoted(prefix, &path) } else { "/dev/null".to_owned() }
    };
    // A name with a space is ended by a tab, as git and patch expect it.
    let ended = |name: String| if name.contains(' ') && !name.starts_with('"') { name + "\t" } else { name };
    [
        format!("--- {}", ended(name("a/", change.old.as_ref()))),
        format!("+++ {}", ended(name("b/", change.new.as_ref()))),
    ]
}

/// A file's difference as a patch.
pub(crate) fn unified(store: &Store, old: &Side, new: &Side, change: &Change, paint: Paint) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut text = |line: &str| {
        out.extend_from_slice(paint.bold(line).as_bytes());
        out.push(b'\n');
    };
    head(change).iter().for_each(|line| text(line));
    if change.kind == ChangeKind::Mode {
        return Ok(out);
    }
    let (old, new) = (old.content(store, &change.path)?, new.content(store, &change.path)?);
    if is_binary(&old) || is_binary(&new) {
        let [old, new] = name_lines(change);
        text(&format!("Binary files {} and {} differ", old[4..].trim_end(), new[4..].trim_end()));
        return Ok(out);
    }
    let labels = Labels { old: "a", new: "b" };
    let (old, new) = (old.bytes().unwrap_or_default(), new.bytes().unwrap_or_default());
    let hunks = lines::unified(old, new, labels, CONTEXT_LINES, None);
    // The first two lines carry the labels; ours may hold any bytes.
    let mut body = hunks.split_inclusive(|byte| *byte == b'\n').skip(2).peekable();
    if body.peek().is_some() {
        name_lines(change).iter().for_each(|line| text(line));
    }
    for line in body {
        match line.first() {
            Some(b'+') => paint.line("32", line, &mut out),
            Some(b'-') => paint.line("31", line, &mut out),
            Some(b'@') => out.extend_from_slice(hunk_line(line, paint).as_bytes()),
            _ => out.extend_from_slice(line),
        }
    }
    Ok(out)
}

fn hunk_line(line: &[u8], paint: Paint) -> String {
    let line = String::from_utf8_lossy(line);
    paint.hunk(line.trim_end_matches('\n')) + "\n"
}

fn is_binary(content: &Content) -> bool {
    match content {
        Content::None => false,
        Content::Bytes(bytes) => lines::is_binary(bytes),
        Content::Large => true,
    }
}

/// "+3 -1", with "~" before counts that are not exact.
pub(crate) fn plus_minus(counts: &LineCounts, paint: Paint) -> String {
    let about = if counts.approximate { "~" } else { "" };
    let added = paint.added(&format!("+{}", counts.added));
    let removed = paint.removed(&format!("-{}", counts.removed));
    format!("{about}{added} {removed}")
}

/// A line for each file with its counts, and a line that sums them up.
#[derive(Debug, Default)]
pub(crate) struct Stat {
    rows: Vec<(String, Option<LineCounts>)>,
}

impl Stat {
    /// Adds a file; without counts it is not comparable or only its mode differs.
    pub(crate) fn add(&mut self, path: &TrackedPath, counts: Option<LineCounts>) {
        self.rows.push((printable_bytes(&shown_bytes(path)), counts));
    }

    /// The lines.
    pub(crate) fn render(&self, columns: Option<usize>, paint: Paint) -> Vec<String> {
        const BAR_COLUMNS: usize = 30;
        let numbers = |counts: &LineCounts| counts.added + counts.removed;
        let most = self.rows.iter().filter_map(|(_, counts)| counts.as_ref().map(numbers)).max().unwrap_or(0);
        let digits = most.to_string().len().max(3);
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(digits + BAR_COLUMNS + 5).max(10));
        let names: Vec<String> = self.rows.iter().map(|(name, _)| cut(name, room)).collect();
        let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let mut lines = Vec::new();
        for (name, (_, counts)) in names.iter().zip(&self.rows) {
            let pad = " ".repeat(longest - width(name));
            lines.push(match counts {
                None => format!(" {name}{pad} | {:>digits$}", "-"),
                Some(counts) if counts.binary => format!(" {name}{pad} | {:>digits$}", "Bin"),
                Some(counts) => {
                    let columns = if most <= BAR_COLUMNS as u64 { most as usize } else { BAR_COLUMNS };
                    let cells = |part: u64, sign: &str| {
                        let length = if part == 0 { 0 } else { ((part * columns as u64).div_ceil(most)) as usize };
                        sign.repeat(length)
                    };
                    let plus = paint.added(&cells(counts.added, "+"));
                    let minus = paint.removed(&cells(counts.removed, "-"));
                    format!(" {name}{pad} | {:>digits$} {plus}{minus}", numbers(counts)).trim_end().to_owned()
                }
            });
        }
        lines.push(self.sum());
        lines
    }

    fn sum(&self) -> String {
        let mut line = format!(" {} changed", files(self.rows.len() as u64));
        let sum = |part: fn(&LineCounts) -> u64| -> u64 {
            self.rows.iter().filter_map(|(_, counts)| counts.as_ref()).filter(|counts| !counts.binary).map(part).sum()
        };
        let (added, removed) = (sum(|counts| counts.added), sum(|counts| counts.removed));
        if added > 0 {
            let _ = write!(line, ", {}(+)", count(added, "insertion", "insertions"));
        }
        if removed > 0 {
            let _ = write!(line, ", {}(-)", count(removed, "deletion", "deletions"));
        }
        line
    }
}

/// The time until which lines are counted exactly.
pub(crate) fn counting_deadline() -> Instant {
    Instant::now() + std::time::Duration::from_secs(5)
}

#[cfg(test)]
mod tests {
    use candy_store::Hash;

    use super::*;

    fn file(mode: u32) -> Option<Entry> {
        Some(Entry::File { content: Hash::of_blob(b"x"), size: 1, mode })
    }

    fn change(name: &str, old: Option<Entry>, new: Option<Entry>) -> Change {
        let path = TrackedPath::new("/w".as_ref(), &std::path::Path::new("/w").join(name)).unwrap();
        Change { path, kind: ChangeKind::Modified, old, new }
    }

    #[test]
    fn heads_are_those_of_git() {
        let created = change("a b", Some(Entry::Absent), file(0o755));
        assert_eq!(head(&created), ["diff --git a/a b b/a b", "new file mode 100755"]);
        assert_eq!(name_lines(&created), ["--- /dev/null", "+++ b/a b\t"]);
        let changed = change("x", file(0o644), file(0o600));
        assert_eq!(head(&changed)[1..], ["old mode 100644", "new mode 100600"]);
    }

    #[test]
    fn names_that_would_break_a_line_are_quoted() {
        assert_eq!(quoted("a/", "说明.md".as_bytes()), "a/说明.md");
        assert_eq!(quoted("a/", b"x\ny\"\\\x1b\xff"), "\"a/x\\ny\\\"\\\\\\033\\377\"");
        assert_eq!(quoted("a/", b"/etc/hosts"), "a//etc/hosts");
    }

    #[test]
    fn a_summary_lines_up_and_counts() {
        let mut stat = Stat::default();
        let counts = |added, removed, binary| Some(LineCounts { added, removed, binary, approximate: false });
        stat.add(&change("long-name", None, None).path, counts(2, 1, false));
        stat.add(&change("b", None, None).path, counts(1, 1, true));
        stat.add(&change("c", None, None).path, None);
        assert_eq!(
            stat.render(None, Paint::off()),
            [
                " long-name |   3 ++-",
                " b         | Bin",
                " c         |   -",
                " 3 files changed, 2 insertions(+), 1 deletion(-)"
            ]
        );
    }
}
