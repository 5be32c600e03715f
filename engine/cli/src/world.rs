//! What every command has: the options of the command line, the two streams, and a way to the store.

use std::path::Path;

use candy_store::{Error, ErrorKind, Store, StoreOptions};

use crate::args::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::place::{self, Place};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::text::printable_path;

/// See the [module](self).
pub(crate) struct World {
    pub(crate) global: Global,
    pub(crate) out: Output,
}

impl World {
    pub(crate) fn new(global: Global) -> Self {
        Self { out: Output::new(&global), global }
    }

    /// Ends the program: says why it failed, if it did.
    pub(crate) fn end(&mut self, result: Result<Exit>) -> Exit {
        let result = result.and_then(|exit| self.out.flush().map(|()| exit));
        match result {
            Ok(exit) => exit,
            Err(failure) => {
                if let Some(text) = failure.render(self.out.json, self.out.paint_err) {
                    self.out.say(&text);
                }
                failure.exit()
            }
        }
    }

    /// Shows that something takes long, on a terminal.
    pub(crate) fn progress(&self, what: &str) -> Progress {
        Progress::start(what, self.out.quiet || self.out.json)
    }

    /// pi's settings.
    pub(crate) fn settings(&mut self) -> Settings {
        let (settings, warning) = Settings::read_global();
        if let Some(warning) = warning {
            self.out.warn(&warning);
        }
        settings
    }

    /// Where the store is.
    pub(crate) fn place(&mut self) -> Result<Place> {
        let place = match place::given(self.global.store.as_deref())? {
            Some(place) => place,
            None => place::of_settings(&self.settings())?,
        };
        self.out.detail(&format!("store: {} ({})", printable_path(&place.path), place.why));
        Ok(place)
    }

    fn options(&self, create: bool, workspace: Option<&Path>) -> StoreOptions {
        StoreOptions {
            create,
            read_only: self.global.read_only,
            workspace: workspace.map(Path::to_path_buf),
            lock_wait: self.global.lock_wait,
        }
    }

    /// Opens a store that exists.
    pub(crate) fn open(&mut self) -> Result<Store> {
        let place = self.place()?;
        Store::open(&place.path, &self.options(false, None)).map_err(|error| self.explain(error, &place))
    }

    fn explain(&self, error: Error, place: &Place) -> Failure {
        // The index of a process that was killed is put in order by whoever opens it next, if that one may write.
        let unsettled = self.global.read_only && error.kind() == ErrorKind::IndexDamaged;
        let failure = place.explain(error.into());
        if unsettled {
            return failure.hint(
                "if a process was killed, the index is put in order by the next command without --read-only; \
                 if that fails as well, run `candy-store fsck --rebuild-index`",
            );
        }
        failure
    }

    /// Opens the store, making it when missing. It must not lie in the workspace.
    pub(crate) fn open_or_create(&mut self, command: &str, workspace: &Path) -> Result<Store> {
        self.refuse_read_only(command)?;
        let place = self.place()?;
        let store = Store::open(&place.path, &self.options(true, Some(workspace)))
            .map_err(|error| place.explain(error.into()))?;
        if store.created() {
            self.out.note(&format!("made a store in {}", printable_path(store.path())));
        }
        Ok(store)
    }

    /// Refuses a command that writes under `--read-only`.
    pub(crate) fn refuse_read_only(&self, command: &str) -> Result<()> {
        if self.global.read_only {
            return Err(Failure::usage(format!("cannot {command} under --read-only: it changes the store"))
                .hint("leave out --read-only, or look first with --dry-run"));
        }
        Ok(())
    }

    /// Refuses `-z` where no paths are printed.
    pub(crate) fn refuse_null(&self, command: &str) -> Result<()> {
        if self.out.null {
            return Err(Failure::usage(format!("cannot use -z with `{command}`: it prints no list of paths"))
                .hint("use --json for output that programs read"));
        }
        Ok(())
    }
}
