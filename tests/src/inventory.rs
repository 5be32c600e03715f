//! Everything that can be seen of a store, as a map: two stores that show the same hold the same.

use std::collections::{BTreeMap, HashSet};
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

/// Places at which `seen` shows other bytes than `truth`: the same path of the same point with another content, or a
/// content that was never stored. That the engine must never do, whatever the damage.
///
/// What a damaged index says *about* contents (a time, a session's name) may be wrong until a check finds it, see
/// [`differences`].
pub fn wrong_bytes(truth: &Inventory, seen: &Inventory) -> Vec<String> {
    let contents = |inventory: &Inventory| -> Vec<(String, String)> {
        let of_bytes = inventory.iter().filter(|(place, _)| place.starts_with(BYTES));
        of_bytes.map(|(place, value)| (place.clone(), value.clone())).collect()
    };
    let stored: HashSet<String> = contents(truth).into_iter().map(|(_, value)| value).collect();
    let wrong = |(place, value): &(String, String)| match truth.get(place) {
        Some(wanted) => value != wanted,
        None => !stored.contains(value),
    };
    contents(seen).into_iter().filter(wrong).map(|(place, value)| format!("{place} shows {value}")).collect()
}

/// Everything that `seen` lacks, has too much, or tells otherwise than `truth`.
pub fn differences(truth: &Inventory, seen: &Inventory) -> Vec<String> {
    let lacking = truth.iter().filter(|(place, value)| seen.get(*place) != Some(*value));
    let surplus = seen.iter().filter(|(place, _)| !truth.contains_key(*place));
    lacking.chain(surplus).map(|(place, value)| format!("{place}: {value}")).collect()
}

/// Begins the name of a place whose value is the hash of bytes that were read.
const BYTES: &str = "bytes of ";

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
                // Ids are unique in the store, so that a point is the same one wherever it is listed.
                Ok(entries) => self.entries(store, &format!("point {}", point.id), &entries),
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
                Ok(entries) => self.entries(store, &format!("redo {session} {:?}", item.point), &entries),
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
                    if let Entry::File { mode, .. } = entry {
                        self.items.insert(format!("mode of {place}"), format!("{mode:o}"));
                    }
                    self.items.insert(format!("{BYTES}{place}"), content.to_string());
                }
                Err(error) => self.errors.push(format!("{place}: {error}")),
            }
        }
    }
}
