//! Findings and reports as text.

use candy_store::fsck::{Cost, Finding, FsckReport, RebuildReport, Severity};

use crate::json::shown_bytes;
use crate::names::short;
use crate::style::Paint;
use crate::text::{count, printable, printable_bytes, printable_path, size};

/// Costs listed with one finding, unless `-v`.
const COSTS_SHOWN: usize = 5;

/// The lines of a finding.
pub(super) fn finding(finding: &Finding, paint: Paint, verbose: bool) -> Vec<String> {
    let word = match finding.severity() {
        Severity::Damage => paint.error("damage:"),
        Severity::Notice => paint.hint("notice:"),
    };
    let mut lines = vec![format!("{word} {} [{}]", printable(&finding.message), finding.code())];
    let mut place = finding.path.as_deref().map(printable_path).unwrap_or_default();
    if let (Some(segment), true) = (finding.segment, place.is_empty()) {
        place = format!("segment {segment}");
    }
    if let Some(offset) = finding.offset {
        place += &format!(" at byte {offset}");
    }
    if !place.is_empty() {
        lines.push(format!("  in {}", place.trim_start()));
    }
    let shown = if verbose { finding.costs.len() } else { COSTS_SHOWN };
    for cost in finding.costs.iter().take(shown) {
        lines.push(format!("  costs {}", self::cost(cost)));
    }
    let more = finding.costs_total.saturating_sub(finding.costs.len().min(shown) as u64);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines.push(format!("  {} {}", paint.dim("help:"), finding.hint()));
    lines
}

fn cost(cost: &Cost) -> String {
    let path = match &cost.path {
        Some(path) => printable_bytes(&shown_bytes(path)),
        None => "some paths".to_owned(),
    };
    let holder = match cost.point {
        Some(point) => format!("point {}", short(point)),
        None => "the state before the first edit, or a redo item".to_owned(),
    };
    format!("{path} of {holder} (session {})", printable(&cost.session))
}

/// What was checked and found, on one line.
pub(super) fn summary(report: &FsckReport) -> String {
    let of = |severity| report.findings.iter().filter(|finding| finding.severity() == severity).count() as u64;
    let mut line = format!(
        "checked {}, {}, {} ({} read) in {}, {}: ",
        count(report.sessions, "session", "sessions"),
        count(report.points, "point", "points"),
        count(report.objects, "object", "objects"),
        report.objects_read,
        count(report.segments, "segment", "segments"),
        size(report.bytes)
    );
    line += &match of(Severity::Damage) {
        0 => "no damage".to_owned(),
        damages => count(damages, "damage", "damages"),
    };
    let notices = of(Severity::Notice);
    if notices > 0 {
        line += &format!(", {}", count(notices, "notice", "notices"));
    }
    line
}

/// What a rebuild found, on one line.
pub(super) fn rebuilt(report: &RebuildReport) -> String {
    format!(
        "made a new index: {}, {}, {} from {}",
        count(report.sessions, "session", "sessions"),
        count(report.points, "point", "points"),
        count(report.objects, "object", "objects"),
        count(report.transactions, "transaction", "transactions")
    )
}

#[cfg(test)]
mod tests {
    use candy_store::fsck::FindingKind;
    use candy_store::{Id, tree::TrackedPath};

    use super::*;

    #[test]
    fn a_finding_says_what_it_costs_and_what_to_do() {
        let path = TrackedPath::new("/w".as_ref(), "/w/a.rs".as_ref()).unwrap();
        let cost = Cost { session: "s".into(), point: Some(Id::from_bytes([0xab; 16])), path: Some(path) };
        let found = Finding {
            kind: FindingKind::ObjectDamaged,
            message: "a content is damaged".into(),
            path: Some("/store/segments/1.seg".into()),
            segment: None,
            offset: Some(64),
            object: None,
            costs: vec![cost],
            costs_total: 3,
        };
        assert_eq!(
            finding(&found, Paint::off(), false),
            [
                "damage: a content is damaged [CANDY_FSCK_OBJECT_DAMAGED]",
                "  in /store/segments/1.seg at byte 64",
                "  costs a.rs of point abababab (session s)",
                "  and 2 more",
                "  help: run `candy-store fsck --repair`",
            ]
        );
    }

    #[test]
    fn a_clean_store_is_said_to_have_no_damage() {
        let report = FsckReport { sessions: 1, points: 2, bytes: 2048, ..FsckReport::default() };
        assert_eq!(
            summary(&report),
            "checked 1 session, 2 points, 0 objects (0 read) in 0 segments, 2.00 KiB: no damage"
        );
    }
}
