//! Compares a store with what its users were promised.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use candy_store::fsck::{self, FsckOptions, RebuildOptions, Severity};
use candy_store::gc::GcOptions;
use candy_store::io::RealIo;
use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Hash, Store};

use crate::agent::{open_store, session_options};
use crate::witness::{Content, Expected, ExpectedSession, Files};

/// Reads contents through the engine and hashes them again, each only once.
#[derive(Debug, Default)]
pub struct Contents {
    known: HashMap<Hash, Content>,
}

impl Contents {
    /// The content that an entry stands for.
    ///
    /// # Errors
    /// When it cannot be read, or the entry stands for none.
    pub fn of(&mut self, store: &Store, entry: &Entry) -> Result<Content, String> {
        let content = match entry {
            Entry::Absent => return Ok(Content::Absent),
            Entry::File { content, .. } => *content,
            other => return Err(format!("unexpected entry {other:?}")),
        };
        if let Some(known) = self.known.get(&content) {
            return Ok(*known);
        }
        let mut hasher = blake3::Hasher::new();
        store.copy_blob(content, &mut hasher).map_err(|error| error.to_string())?;
        let hash = Content::File(hasher.finalize());
        self.known.insert(content, hash);
        Ok(hash)
    }
}

/// Everything in which the store at `path` is not as promised, one sentence each. Nobody else may be using it.
pub fn violations(path: &Path, expected: &Expected) -> Vec<String> {
    compare(path, expected).unwrap_or_else(|error| vec![error.to_string()])
}

/// What a check finds, notices included. With `read_data` every content is read.
pub fn all_findings(path: &Path, read_data: bool) -> Vec<String> {
    findings_from(path, read_data, Severity::Notice)
}

/// The damage that a check finds. Notices, such as leftovers of a killed process, are none.
pub fn findings(path: &Path, read_data: bool) -> Vec<String> {
    findings_from(path, read_data, Severity::Damage)
}

fn findings_from(path: &Path, read_data: bool, severity: Severity) -> Vec<String> {
    let options = FsckOptions { read_data, lock_wait: Duration::from_secs(30), ..FsckOptions::default() };
    match fsck::check_path(Arc::new(RealIo), path, &options) {
        Ok(report) => {
            let findings = report.findings.iter().filter(|finding| finding.severity() >= severity);
            findings.map(|finding| format!("{} {}", finding.code(), finding.message)).collect()
        }
        Err(error) => vec![format!("{} {error}", error.code())],
    }
}

/// Deletes the index and makes it anew from the data; returns what the rebuild complains about.
pub fn lose_and_rebuild_index(path: &Path) -> Vec<String> {
    let removed = std::fs::remove_file(path.join("index.redb"));
    let rebuilt = fsck::rebuild(Arc::new(RealIo), path, &RebuildOptions::default());
    removed
        .err()
        .map(|error| error.to_string())
        .into_iter()
        .chain(rebuilt.err().map(|error| error.to_string()))
        .collect()
}

/// What a collection complains about.
pub fn collect(path: &Path) -> Vec<String> {
    let collected = open_store(path).and_then(|store| {
        let report = store.gc(&GcOptions { force: true, dry_run: false })?;
        store.close()?;
        Ok(report.held_back)
    });
    collected.map_or_else(|error| vec![error.to_string()], |held_back| held_back.into_iter().collect())
}

fn compare(path: &Path, expected: &Expected) -> candy_store::Result<Vec<String>> {
    let store = open_store(path)?;
    let mut found = Violations { store: &store, contents: Contents::default(), sentences: expected.failures.clone() };
    let sessions: BTreeMap<String, _> =
        store.sessions()?.into_iter().map(|session| (session.id.clone(), session)).collect();
    for id in expected.dropped.iter().filter(|id| sessions.contains_key(*id)) {
        found.say(format!("session {id} was dropped and is back"));
    }
    for (id, wanted) in &expected.sessions {
        if sessions.contains_key(id) {
            found.check_session(id, wanted)?;
        } else if !wanted.may_be_gone {
            found.say(format!("session {id} is lost"));
        }
    }
    for (id, session) in &sessions {
        let tracked = expected.sessions.get(id).map(|wanted| wanted.tracked.clone()).unwrap_or_default();
        found.check_readable(id, &session.cwd, &tracked)?;
    }
    let sentences = found.sentences;
    store.close()?;
    Ok(sentences)
}

struct Violations<'a> {
    store: &'a Store,
    contents: Contents,
    sentences: Vec<String>,
}

impl Violations<'_> {
    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// What was promised of one session.
    fn check_session(&mut self, id: &str, wanted: &ExpectedSession) -> candy_store::Result<()> {
        let points: HashMap<String, _> =
            self.store.points(id)?.into_iter().map(|point| (point.id.to_hex(), point)).collect();
        for (point_id, files) in &wanted.points {
            let Some(point) = points.get(point_id) else {
                self.say(format!("point {point_id} of session {id} is lost"));
                continue;
            };
            let place = format!("point {point_id} of session {id}");
            match self.store.entries(point.roots) {
                Ok(entries) => {
                    let found = self.read(&place, &entries);
                    if found != *files {
                        self.say(format!("{place}: promised {files:?}, found {found:?}"));
                    }
                }
                Err(error) => self.say(format!("{place}: {error}")),
            }
        }
        // Every item that a worker pushes has a point.
        let top = self.store.redo_items(id)?.last().and_then(|item| item.point).map(|point| point.to_hex());
        if !wanted.redo_tops.contains(&top) {
            self.say(format!("redo of session {id}: {top:?} is on top, promised was {:?}", wanted.redo_tops));
        }
        Ok(())
    }

    /// Whatever is listed must be readable, promised or not; promised pre-images must be the right ones.
    fn check_readable(&mut self, id: &str, cwd: &Path, tracked: &Files) -> candy_store::Result<()> {
        for point in self.store.points(id)? {
            let place = format!("point {} of session {id}", point.id);
            match self.store.entries(point.roots) {
                Ok(entries) => drop(self.read(&place, &entries)),
                Err(error) => self.say(format!("{place}: {error}")),
            }
        }
        let session = self.store.open_session(&session_options(id, cwd))?;
        let originals = self.read(&format!("originals of session {id}"), &session.originals()?);
        for (path, wanted) in tracked.iter().filter(|(path, wanted)| originals.get(*path) != Some(*wanted)) {
            self.say(format!("original {path} of session {id}: promised {wanted}, found {:?}", originals.get(path)));
        }
        Ok(())
    }

    /// Reads every content of a manifest.
    fn read(&mut self, place: &str, entries: &[(TrackedPath, Entry)]) -> Files {
        let mut files = Files::new();
        for (path, entry) in entries {
            match self.contents.of(self.store, entry) {
                Ok(content) => drop(files.insert(path.display(), content)),
                Err(error) => self.say(format!("{place}: {}: {error}", path.display())),
            }
        }
        files
    }
}
