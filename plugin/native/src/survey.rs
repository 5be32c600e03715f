//! Values of a survey: many states, counted from one look at the files.

use candy_store::{Result, Session, Target};
use napi_derive::napi;

use crate::values::{number, whole};

/// Which rows to count.
#[napi(object, object_to_js = false)]
pub struct SurveyOptions {
    /// User messages before which to go back.
    pub entry_ids: Vec<String>,
    /// Entries of the branch, oldest first.
    pub branch: Vec<String>,
    /// Whether to skip files that were changed by hand.
    pub protect_manual_edits: Option<bool>,
}

/// What going back to before a message would change.
#[napi(object, object_from_js = false)]
pub struct SurveyRow {
    /// Set when the state cannot be read; nothing else is known then.
    pub error: Option<String>,
    /// The point whose state it is.
    pub point_id: Option<String>,
    /// Whether something else stands in for what was asked.
    pub fallback: bool,
    /// Files that would change.
    pub changed: f64,
    /// Lines that come.
    pub added: f64,
    /// Lines that go.
    pub removed: f64,
    /// Whether the line counts are not exact.
    pub approximate: bool,
    /// Files changed by hand among those.
    pub changed_by_hand: f64,
    /// Links left alone.
    pub links_skipped: f64,
    /// Everything else left alone.
    pub other_skipped: f64,
}

impl From<Result<candy_store::SurveyRow>> for SurveyRow {
    fn from(row: Result<candy_store::SurveyRow>) -> Self {
        let empty = Self {
            error: None,
            point_id: None,
            fallback: false,
            changed: 0.0,
            added: 0.0,
            removed: 0.0,
            approximate: false,
            changed_by_hand: 0.0,
            links_skipped: 0.0,
            other_skipped: 0.0,
        };
        match row {
            Err(error) => Self { error: Some(error.to_string()), ..empty },
            Ok(row) => Self {
                point_id: row.point.map(|point| point.to_hex()),
                fallback: row.fallback,
                changed: number(row.changed),
                added: number(row.added),
                removed: number(row.removed),
                approximate: row.approximate,
                changed_by_hand: number(row.changed_by_hand),
                links_skipped: number(row.links_skipped),
                other_skipped: number(row.other_skipped),
                ..empty
            },
        }
    }
}

/// Counts rows of a survey.
pub(crate) fn rows(session: &Session, survey: f64, options: SurveyOptions) -> Result<Vec<SurveyRow>> {
    let SurveyOptions { entry_ids, branch, protect_manual_edits } = options;
    let targets: Vec<Target> =
        entry_ids.into_iter().map(|entry| Target::Message { entry, branch: branch.clone() }).collect();
    let rows = session.survey_rows(whole("survey", survey)?, &targets, protect_manual_edits.unwrap_or(false))?;
    Ok(rows.into_iter().map(SurveyRow::from).collect())
}
