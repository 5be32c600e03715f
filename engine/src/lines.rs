//! Line counts and unified diffs. Lines end at `\n` and nowhere else, and are compared as bytes.

use std::collections::HashMap;
use std::io::Write as _;
use std::time::Instant;

use similar::{Algorithm, ChangeTag, DiffOp, TextDiff, capture_diff_slices_deadline};

use crate::limits::BLOB_BYTES_MAX;

/// A NUL within this many bytes makes a content binary, as in git.
const BINARY_PROBE_BYTES: usize = 8000;

/// Above this many lines the search for the shortest difference may settle for a good one, as git's does.
const EXACT_LINES_MAX: usize = 1000;

/// How much two contents differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that only the new content has.
    pub added: u64,
    /// Lines that only the old content has.
    pub removed: u64,
    /// At least one of the contents is no text.
    pub binary: bool,
    /// The counts are not exact: time ran out, or the contents are too large to compare.
    pub approximate: bool,
}

fn is_large(content: &[u8]) -> bool {
    content.len() as u64 > BLOB_BYTES_MAX
}

/// Whether a content is not shown as text.
pub fn is_binary(content: &[u8]) -> bool {
    is_large(content) || content[..content.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

/// Lines with their ends.
fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

fn line_count(content: &[u8]) -> u64 {
    content.split_inclusive(|byte| *byte == b'\n').count() as u64
}

/// Counts lines on the way from `old` to `new`; `None` is a file that does not exist. After the deadline the counts are
/// an upper bound.
pub fn count(old: Option<&[u8]>, new: Option<&[u8]>, deadline: Option<Instant>) -> LineCounts {
    let one_sided = |content: &[u8]| (line_count(content), is_binary(content));
    let (old, new) = match (old, new) {
        (None, None) => return LineCounts::default(),
        (Some(old), None) => {
            let (removed, binary) = one_sided(old);
            return LineCounts { removed, binary, ..LineCounts::default() };
        }
        (None, Some(new)) => {
            let (added, binary) = one_sided(new);
            return LineCounts { added, binary, ..LineCounts::default() };
        }
        (Some(old), Some(new)) if old == new => return LineCounts::default(),
        (Some(old), Some(new)) => (old, new),
    };
    if is_binary(old) || is_binary(new) {
        let approximate = is_large(old) || is_large(new);
        return LineCounts { added: 1, removed: 1, binary: true, approximate };
    }
    let (old, new) = (lines(old), lines(new));
    let common = common_lines(&old, &new, deadline);
    LineCounts {
        added: new.len() as u64 - common,
        removed: old.len() as u64 - common,
        binary: false,
        approximate: deadline.is_some_and(|deadline| Instant::now() >= deadline),
    }
}

/// How many lines both sides share, in the same order. Lines that only one side has cannot be among them and are left
/// out first, which makes files that have little in common cheap.
fn common_lines(old: &[&[u8]], new: &[&[u8]], deadline: Option<Instant>) -> u64 {
    let mut numbers: HashMap<&[u8], u32> = HashMap::with_capacity(old.len());
    for line in old {
        let next = numbers.len() as u32;
        numbers.entry(line).or_insert(next);
    }
    let new: Vec<u32> = new.iter().filter_map(|line| numbers.get(line).copied()).collect();
    let mut shared = vec![false; numbers.len()];
    for number in &new {
        shared[*number as usize] = true;
    }
    let old: Vec<u32> = old.iter().map(|line| numbers[line]).filter(|number| shared[*number as usize]).collect();
    let ops = capture_diff_slices_deadline(algorithm(old.len(), new.len()), &old, &new, deadline);
    ops.iter().map(|op| if let DiffOp::Equal { len, .. } = op { *len as u64 } else { 0 }).sum()
}

/// Counts for contents that are too large to be looked at.
pub fn count_large() -> LineCounts {
    LineCounts { added: 1, removed: 1, binary: true, approximate: true }
}

fn algorithm(old: usize, new: usize) -> Algorithm {
    if old + new <= EXACT_LINES_MAX { Algorithm::RawMyers } else { Algorithm::Myers }
}

/// The names in the head of a unified diff.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// Name of the old content.
    pub old: &'a str,
    /// Name of the new content.
    pub new: &'a str,
}

/// A unified diff with `context` lines around each change. Empty when nothing differs or a content is binary.
pub fn unified(old: &[u8], new: &[u8], labels: Labels<'_>, context: usize, deadline: Option<Instant>) -> Vec<u8> {
    if old == new || is_binary(old) || is_binary(new) {
        return Vec::new();
    }
    let (old, new) = (lines(old), lines(new));
    let mut config = TextDiff::configure();
    config.algorithm(algorithm(old.len(), new.len()));
    if let Some(deadline) = deadline {
        config.deadline(deadline);
    }
    let diff = config.diff_slices(&old, &new);
    let mut out = Vec::new();
    write_unified(&diff, labels, context, &mut out).expect("writing to memory cannot fail");
    out
}

/// Like the writer of `similar`, which takes a lone `\r` for the end of a line as well.
fn write_unified(
    diff: &TextDiff<'_, '_, [u8]>,
    labels: Labels<'_>,
    context: usize,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    writeln!(out, "--- {}\n+++ {}", labels.old, labels.new)?;
    for ops in diff.grouped_ops(context) {
        writeln!(out, "{}", similar::udiff::UnifiedHunkHeader::new(&ops))?;
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            out.push(match change.tag() {
                ChangeTag::Equal => b' ',
                ChangeTag::Delete => b'-',
                ChangeTag::Insert => b'+',
            });
            out.extend_from_slice(change.value());
            if !change.value().ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Table {
        pairs: Vec<Pair>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Pair {
        current: String,
        target: String,
        changed: u64,
        ins: u64,
        del: u64,
        del_if_removed: u64,
    }

    fn base64(text: &str) -> Vec<u8> {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
        for c in text.bytes().filter(|c| *c != b'=') {
            let digit = DIGITS.iter().position(|digit| *digit == c).unwrap();
            bits = bits << 6 | digit as u32;
            held += 6;
            if held >= 8 {
                held -= 8;
                bytes.push((bits >> held) as u8);
                bits &= (1 << held) - 1;
            }
        }
        bytes
    }

    #[test]
    fn every_pair_of_the_table_comes_out_as_it_says() {
        let table: Table = serde_json::from_str(include_str!("../tests/data/linecounts.json")).unwrap();
        assert_eq!(table.pairs.len(), 413);
        for pair in table.pairs {
            let (current, target) = (base64(&pair.current), base64(&pair.target));
            let counts = count(Some(&current), Some(&target), None);
            assert_eq!((counts.added, counts.removed), (pair.ins, pair.del), "{current:?} -> {target:?}");
            assert_eq!(u64::from(current != target), pair.changed);
            assert_eq!(count(Some(&current), None, None).removed, pair.del_if_removed, "{current:?}");
        }
    }

    #[test]
    fn a_file_that_comes_back_counts_its_lines_as_added() {
        let counts = count(None, Some(b"a\nb"), None);
        assert_eq!(counts, LineCounts { added: 2, ..LineCounts::default() });
        assert_eq!(count(None, None, None), LineCounts::default());
    }

    #[test]
    fn a_nul_beyond_the_first_8000_bytes_does_not_make_a_content_binary() {
        let mut content = vec![b'x'; 7999];
        content.push(0);
        assert!(is_binary(&content));
        content.insert(0, b'x');
        assert!(!is_binary(&content));
        assert_eq!(
            count(Some(b"a\n"), Some(b"\0"), None),
            LineCounts { added: 1, removed: 1, binary: true, approximate: false }
        );
    }

    #[test]
    fn a_diff_past_its_deadline_says_so_and_stops() {
        let old: Vec<u8> = (0..100_000u32).flat_map(|n| format!("old {n}\n").into_bytes()).collect();
        let new: Vec<u8> = (0..100_000u32)
            .flat_map(|n| format!("{} {}\n", if n % 3 == 0 { "new" } else { "old" }, n * 7919 % 100_000).into_bytes())
            .collect();
        let began = Instant::now();
        let counts = count(Some(&old), Some(&new), Some(began + Duration::from_millis(50)));
        assert!(counts.approximate);
        assert!(counts.added > 0 && counts.removed > 0);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn a_unified_diff_breaks_lines_at_newlines_only() {
        let labels = Labels { old: "a/x", new: "b/x" };
        let diff = unified(b"one\rtwo\nthree\n", b"one\rtwo\nfour", labels, 3, None);
        assert_eq!(
            String::from_utf8(diff).unwrap(),
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\rtwo\n-three\n+four\n\\ No newline at end of file\n"
        );
        assert_eq!(unified(b"\0", b"a", labels, 3, None), b"");
        assert_eq!(unified(b"a", b"a", labels, 3, None), b"");
    }

    #[test]
    fn a_diff_of_bytes_that_are_not_text_keeps_them() {
        let diff = unified(b"a\xff\n", b"a\xfe\n", Labels { old: "o", new: "n" }, 3, None);
        assert_eq!(diff, b"--- o\n+++ n\n@@ -1 +1 @@\n-a\xff\n+a\xfe\n");
    }
}
