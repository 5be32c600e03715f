//! Shows that something takes long: a bar or a spinner on a terminal, one plain line on a terminal that can do no more,
//! nothing elsewhere.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use candy_store::fsck::OnProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::style::is_dumb_terminal;

/// What is faster needs no progress.
const PATIENCE: Duration = Duration::from_secs(1);

const TICK: Duration = Duration::from_millis(120);

/// Runs until it is dropped. It must be dropped before anything else is printed.
#[must_use = "the progress ends when this is dropped"]
pub(crate) struct Progress {
    bar: ProgressBar,
    timer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins; `what` says what is being done, as "checking the store".
    pub(crate) fn start(what: &str, silent: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style("{spinner} {msg} ({elapsed})"));
        bar.set_message(what.to_owned());
        if silent || !io::stderr().is_terminal() {
            return Self { bar, timer: None };
        }
        let (stop, stopped) = mpsc::channel();
        let shown = bar.clone();
        let dumb = is_dumb_terminal();
        let show = move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if dumb {
                // A line of its own: such a terminal cannot take it back.
                eprintln!("{} ...", shown.message());
                return;
            }
            shown.set_draw_target(ProgressDrawTarget::stderr());
            shown.enable_steady_tick(TICK);
        };
        match std::thread::Builder::new().name("progress".into()).spawn(show) {
            Ok(thread) => Self { bar, timer: Some((stop, thread)) },
            Err(_) => Self { bar, timer: None },
        }
    }

    /// Sets how far it is. With a total the spinner becomes a bar.
    pub(crate) fn at(&self, done: u64, total: u64) {
        advance(&self.bar, done, total);
    }

    /// Is told by a check how far it is.
    pub(crate) fn of_check(&self) -> OnProgress {
        let bar = self.bar.clone();
        OnProgress::new(move |progress| {
            if bar.message() != progress.phase {
                bar.set_message(progress.phase);
            }
            advance(&bar, progress.done, progress.total);
        })
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn advance(bar: &ProgressBar, done: u64, total: u64) {
    if bar.length() != Some(total) && total > 0 {
        bar.set_length(total);
        bar.set_style(style("{spinner} {msg} [{bar:30}] {percent}%").progress_chars("=> "));
    }
    bar.set_position(done);
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.timer.take() {
            drop(stop);
            // The thread only waits for the line above.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
