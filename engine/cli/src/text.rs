//! Text for people: nothing that could steer a terminal, sizes, cut lines.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Characters that change the direction or the look of what follows without being seen.
fn is_trick(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The text on one line, with everything that could steer a terminal written out.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_trick(c) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// A name of bytes: what is not UTF-8 is written out as `\xff`.
pub(crate) fn printable_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&printable(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A path for people.
pub(crate) fn printable_path(path: &Path) -> String {
    printable_bytes(path.as_os_str().as_bytes())
}

/// A prompt on one line: runs of white space become one space.
pub(crate) fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Columns a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut at a character that a reader sees as one, so that it takes at most `columns`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let next = grapheme.width();
        if used + next + 1 > columns {
            break;
        }
        out.push_str(grapheme);
        used += next;
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// A size for people: exact below 1024 bytes, three digits above.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// "1 file", "2 files".
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// "1 file", "2 files": the noun of nearly every sentence.
pub(crate) fn files(number: u64) -> String {
    count(number, "file", "files")
}

/// A bar of up to `columns`, for a share of a whole.
pub(crate) fn bar(part: u64, whole: u64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if whole == 0 || part == 0 {
        return String::new();
    }
    let eighths = ((part.min(whole) as f64 / whole as f64) * (columns * 8) as f64).round() as usize;
    let eighths = eighths.max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_printable_can_steer_a_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\n\\u{202e}c");
        assert_eq!(printable_bytes(b"a\xff\x07"), "a\\xff\\u{7}");
        assert_eq!(printable_bytes("说明 😀".as_bytes()), "说明 😀");
    }

    #[test]
    fn a_cut_text_fits_and_breaks_no_character() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("说明书", 4), "说…");
        assert_eq!(cut("说明书", 5), "说明…");
        let family = "👨‍👩‍👧‍👦x";
        assert_eq!(cut(family, 2), "…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn sizes_have_three_digits() {
        let sizes = [0, 1023, 1024, 10_240, 102_400, 1_022_976, 1 << 20, u64::MAX];
        let texts = sizes.map(size);
        assert_eq!(texts, ["0 B", "1023 B", "1.00 KiB", "10.0 KiB", "100 KiB", "999 KiB", "1.00 MiB", "16.0 EiB"]);
    }

    #[test]
    fn bars_grow_with_their_share() {
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(1, 1_000_000, 4), "▏");
        assert_eq!(bar(7, 0, 4), "");
    }

    #[test]
    fn one_of_a_thing_is_singular() {
        assert_eq!(files(1), "1 file");
        assert_eq!(files(0), "0 files");
    }
}
