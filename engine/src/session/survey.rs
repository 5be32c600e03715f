//! A survey: what going back to each of many states would change, from one look at the files.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::id::Id;
use crate::restore::{CountedPairs, PlanOptions, Planner, Present};
use crate::session::restore::Target;
use crate::session::{Session, Tracked};
use crate::tree::{Entry, TrackedPath};

/// One look at the files. A handle remembers the newest.
#[derive(Debug)]
pub(super) struct Survey {
    id: u64,
    present: Present,
    counted: CountedPairs,
}

/// What going back to a state would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyRow {
    /// The point whose state it is; `None` when the original states alone are used.
    pub point: Option<Id>,
    /// True when something else than what was asked for stands in.
    pub fallback: bool,
    /// Files that would be written, created, deleted or get another mode.
    pub changed: u64,
    /// Lines that come.
    pub added: u64,
    /// Lines that go.
    pub removed: u64,
    /// The line counts are not exact.
    pub approximate: bool,
    /// Files among the changed ones that were changed by hand since the agent's last edit.
    pub changed_by_hand: u64,
    /// Symbolic and hard links left alone.
    pub links_skipped: u64,
    /// Everything else left alone.
    pub other_skipped: u64,
}

/// Whether the last capture saw more than one name of the file: such a file is left alone, which its state does not tell.
fn is_linked(tracked: &Tracked) -> bool {
    tracked.seen.as_ref().and_then(|seen| seen.stat).is_some_and(|stat| stat.nlink > 1)
}

impl Session {
    /// Looks at the tracked files and returns the survey's number, for [`Session::survey_rows`]. Valid until the next one.
    ///
    /// Unlike a plan it takes the word of a file's stat where the last capture allows it: its rows are for choosing, not
    /// for carrying out.
    pub fn survey(&self) -> Result<u64> {
        let mut state = self.lock_state();
        self.refresh(&mut state)?;
        let unchanged = self.unchanged(&state)?.into_iter().filter(|(_, tracked, _)| !is_linked(tracked));
        let mut known: HashMap<&TrackedPath, Entry> =
            unchanged.filter_map(|(path, _, entry)| Some((path, entry?))).collect();
        let present = self.present(&state, &|_| true, |path| known.remove(path))?;
        let id = state.survey.as_ref().map_or(1, |survey| survey.id + 1);
        state.survey = Some(Arc::new(Survey { id, present, counted: CountedPairs::default() }));
        Ok(id)
    }

    /// What going back to each of the targets would change, as far as the survey saw the files. A target that cannot be
    /// read has an error of its own.
    pub fn survey_rows(
        &self,
        survey: u64,
        targets: &[Target],
        protect_manual_edits: bool,
    ) -> Result<Vec<Result<SurveyRow>>> {
        let state = self.lock_state();
        let survey = state.survey.as_ref().filter(|newest| newest.id == survey).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "find the survey").cause("a newer one was made").with_hint("begin again")
        })?;
        let survey = Arc::clone(survey);
        let points = self.points()?;
        let options = PlanOptions { line_counts: true, protect_manual_edits };
        let planner = Planner::new(&self.inner, &survey.present, options, &survey.counted);
        let row = |target: &Target| -> Result<SurveyRow> {
            let (roots, point, fallback) = super::restore::resolve_target(target, &points)?;
            let plan = planner.plan(self.targets(&state, roots, &|_| true)?);
            let changes = || plan.files.iter().filter(|file| file.action.changes());
            Ok(SurveyRow {
                point,
                fallback,
                changed: plan.changed,
                added: plan.added,
                removed: plan.removed,
                approximate: changes().any(|file| file.counts.approximate),
                changed_by_hand: changes().filter(|file| file.changed_by_hand).count() as u64,
                links_skipped: plan.links_skipped,
                other_skipped: plan.other_skipped,
            })
        };
        Ok(self.inner.pool().install(|| targets.par_iter().map(row).collect()))
    }
}
