//! Findings and reports as JSON.

use candy_store::fsck::{Cost, Finding, FsckReport, RebuildReport, RepairReport, Severity};
use serde::Serialize;

use crate::json::PathJson;

#[derive(Serialize)]
struct CostJson {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    point: Option<String>,
    #[serde(flatten)]
    path: Option<PathJson>,
}

impl CostJson {
    fn of(cost: &Cost) -> Self {
        Self {
            session: cost.session.clone(),
            point: cost.point.map(|point| point.to_hex()),
            path: cost.path.as_ref().map(PathJson::of_tracked),
        }
    }
}

/// One finding.
#[derive(Serialize)]
pub(super) struct FindingJson {
    r#type: &'static str,
    code: &'static str,
    severity: &'static str,
    message: String,
    hint: &'static str,
    #[serde(flatten)]
    path: Option<PathJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    costs: Vec<CostJson>,
    costs_total: u64,
}

impl FindingJson {
    pub(super) fn of(finding: &Finding) -> Self {
        Self {
            r#type: "finding",
            code: finding.code(),
            severity: finding.severity().word(),
            message: finding.message.clone(),
            hint: finding.hint(),
            path: finding.path.as_deref().map(PathJson::of),
            segment: finding.segment.map(|segment| segment.to_hex()),
            offset: finding.offset,
            object: finding.object.map(|object| object.to_hex()),
            costs: finding.costs.iter().map(CostJson::of).collect(),
            costs_total: finding.costs_total,
        }
    }
}

/// What was checked, after the findings.
#[derive(Serialize)]
pub(super) struct SummaryJson {
    r#type: &'static str,
    clean: bool,
    damages: u64,
    notices: u64,
    sessions: u64,
    points: u64,
    objects: u64,
    objects_read: u64,
    segments: u64,
    bytes: u64,
}

impl SummaryJson {
    pub(super) fn of(report: &FsckReport) -> Self {
        let of = |severity| report.findings.iter().filter(|finding| finding.severity() == severity).count() as u64;
        Self {
            r#type: "summary",
            clean: report.is_clean(),
            damages: of(Severity::Damage),
            notices: of(Severity::Notice),
            sessions: report.sessions,
            points: report.points,
            objects: report.objects,
            objects_read: report.objects_read,
            segments: report.segments,
            bytes: report.bytes,
        }
    }
}

/// What a repair did.
#[derive(Serialize)]
pub(super) struct RepairJson {
    r#type: &'static str,
    actions: Vec<String>,
    healed: u64,
    lost: Vec<FindingJson>,
    clean: bool,
    left: Vec<FindingJson>,
}

impl RepairJson {
    pub(super) fn of(report: &RepairReport) -> Self {
        let damages = report.after.findings.iter().filter(|finding| finding.severity() == Severity::Damage);
        Self {
            r#type: "repair",
            actions: report.actions.clone(),
            healed: report.healed,
            lost: report.lost.iter().map(FindingJson::of).collect(),
            clean: report.after.is_clean(),
            left: damages.map(FindingJson::of).collect(),
        }
    }

    pub(super) fn nothing_to_do() -> Self {
        Self { r#type: "repair", actions: vec![], healed: 0, lost: vec![], clean: true, left: vec![] }
    }
}

/// What a rebuild did.
#[derive(Serialize)]
pub(super) struct RebuildJson {
    r#type: &'static str,
    sessions: u64,
    points: u64,
    objects: u64,
    transactions: u64,
    losses: Vec<String>,
    actions: Vec<String>,
    old_index: Option<PathJson>,
}

impl RebuildJson {
    pub(super) fn of(report: &RebuildReport) -> Self {
        Self {
            r#type: "rebuild",
            sessions: report.sessions,
            points: report.points,
            objects: report.objects,
            transactions: report.transactions,
            losses: report.losses.clone(),
            actions: report.actions.clone(),
            old_index: report.old_index.as_deref().map(PathJson::of),
        }
    }
}
