//! Everything that can be seen of a store, as a map: two stores that show the same hold the same.

use std::collections::BTreeMap;
use std::path::Path;

use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Store, StoreOptions};

use crate::agent::session_options;
use crate::verify::Contents;

/// What there is, by where it is seen: sessions, points with their fields, every path of every point with the hash of the
/// bytes that were really read, originals, redo items. What could not be read is not in the map.
pub type Inventory = BTreeMap<String, String>;

/// Looks at everything. Whatever cannot be read is left out; the second value tells how much that was.
pub fn take(path: &Path) -> (Inventory, Vec<String>) {
    let mut taker = Taker { items: Inventory::new(), errors: Vec::new(), contents: Contents::default() };
    let options = StoreOptions { create: false, ..StoreOptions::default() };
    match Store::open(path, &options) {
        Ok(store) => {
            if let Err(error) = taker.sessions(&store) {
                taker.errors.push(error.to_string());
            }
            // A damaged store may be unable to say goodbye properly; that is no loss.
            let _ = store.close();
        }
        Err(error) => taker.errors.push(error.to_string()),
    }
    (taker.items, taker.errors)
}

/// What `seen` shows that `truth` does not: a wrong answer, not merely a missing one.
pub fn wrong_answers(truth: &Inventory, seen: &Inventory) -> Vec<String> {
    seen.iter()
        .filter(|(place, value)| truth.get(*place) != Some(*value))
        .map(|(place, value)| format!("{place}: shows {value:?} instead of {:?}", truth.get(place)))
        .collect()
}

struct Taker {
    items: Inventory,
    errors: Vec<String>,
    contents: Contents,
}

impl Taker {
    fn sessions(&mut self, store: &Store) -> candy_store::Result<()> {
        for session in store.sessions()? {
            let id = &session.id;
            let about = format!("{} {} {:?}", session.cwd.display(), session.created_ms, session.forked_from);
            self.items.insert(format!("session {id}"), about);
            if let Err(error) = self.points(store, id) {
                self.errors.push(format!("points of {id}: {error}"));
            }
            if let Err(error) = self.originals(store, id, &session.cwd) {
                self.errors.push(format!("originals of {id}: {error}"));
            }
            if let Err(error) = self.redo(store, id) {
                self.errors.push(format!("redo of {id}: {error}"));
            }
        }
        Ok(())
    }

    fn points(&mut self, store: &Store, session: &str) -> candy_store::Result<()> {
        for point in store.points(session)? {
            let place = format!("point {session} {}", point.seq);
            let about = format!(
                "{} {:?} {} {:?} {:?} {} {} {:?}",
                point.id,
                point.kind,
                point.created_ms,
                point.entry,
                point.prompt,
                point.files,
                point.changed,
                point.gaps
            );
            self.items.insert(place.clone(), about);
            match store.entries(point.roots) {
                Ok(entries) => self.entries(store, &place, &entries),
                Err(error) => self.errors.push(format!("{place}: {error}")),
            }
        }
        Ok(())
    }

    fn originals(&mut self, store: &Store, session: &str, cwd: &Path) -> candy_store::Result<()> {
        let originals = store.open_session(&session_options(session, cwd))?.originals()?;
        self.entries(store, &format!("original {session}"), &originals);
        Ok(())
    }

    fn redo(&mut self, store: &Store, session: &str) -> candy_store::Result<()> {
        for (number, item) in store.redo_items(session)?.into_iter().enumerate() {
            let place = format!("redo {session} {number}");
            let about = format!("{:?} {:?} {:?} {}", item.kind, item.point, item.old_leaf, item.created_ms);
            self.items.insert(place.clone(), about);
            match store.entries(item.roots) {
                Ok(entries) => self.entries(store, &place, &entries),
                Err(error) => self.errors.push(format!("{place}: {error}")),
            }
        }
        Ok(())
    }

    fn entries(&mut self, store: &Store, place: &str, entries: &[(TrackedPath, Entry)]) {
        for (path, entry) in entries {
            let place = format!("{place} {}", path.display());
            // An entry that a repair turned into "lost" shows no bytes: nothing to compare.
            match self.contents.of(store, entry) {
                Ok(content) => {
                    let mode = if let Entry::File { mode, .. } = entry { *mode } else { 0 };
                    self.items.insert(place, format!("{content} {mode:o}"));
                }
                Err(error) => self.errors.push(format!("{place}: {error}")),
            }
        }
    }
}
