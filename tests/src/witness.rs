//! What a worker says has been promised to it, and what must therefore be in the store.
//!
//! A worker prints one [`Promise`] per line after the call that made it has returned. Where a call can be cut half way with
//! either outcome allowed, it prints an intention first. Sessions belong to one slot, so the lines of that slot's
//! successive lives, in order, tell the whole story of a session.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::child::Life;

/// What a path held: nothing, or content with this hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// No file.
    Absent,
    /// A file with these bytes.
    File(blake3::Hash),
}

impl Content {
    /// What is at a path right now.
    ///
    /// # Panics
    /// When the file is there and cannot be read.
    pub fn of(path: &std::path::Path) -> Self {
        match std::fs::read(path) {
            Ok(bytes) => Self::File(blake3::hash(&bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Absent,
            Err(error) => panic!("cannot read {}: {error}", path.display()),
        }
    }
}

/// Contents by path relative to the session's working directory.
pub type Files = BTreeMap<String, Content>;

/// One line of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// The pre-image of a path is durable.
    Tracked {
        /// Session id.
        session: String,
        /// Relative path.
        path: String,
        /// What was there.
        content: Content,
    },
    /// A point is durable.
    Point {
        /// Session id.
        session: String,
        /// Point id.
        id: String,
        /// Everything in it.
        files: Files,
    },
    /// The redo stack is about to have this item on top, or none.
    RedoIntended {
        /// Session id.
        session: String,
        /// Id of the item's point.
        top: Option<String>,
    },
    /// The redo stack has this item on top, or none.
    Redo {
        /// Session id.
        session: String,
        /// Id of the item's point.
        top: Option<String>,
    },
    /// A session has all points that another one had at that moment, under new ids.
    Forked {
        /// Session id of the original.
        from: String,
        /// Session id of the copy.
        to: String,
        /// Point ids in the original and in the copy.
        points: Vec<(String, String)>,
    },
    /// A session is about to be dropped.
    DropIntended {
        /// Session id.
        session: String,
    },
    /// A session has been dropped.
    Dropped {
        /// Session id.
        session: String,
    },
    /// Something went wrong that must not.
    Failed {
        /// What.
        why: String,
    },
}

impl Promise {
    /// Prints the line in one write: a kill leaves it whole or absent.
    pub fn print(&self) {
        use std::io::Write as _;
        let line = format!("{self}\n");
        let mut out = std::io::stdout().lock();
        // A parent that has gone away ends the worker: nobody is left to be promised anything.
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            std::process::exit(0);
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("-"),
            Self::File(hash) => f.write_str(&hash.to_hex()),
        }
    }
}

impl FromStr for Content {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "-" {
            return Ok(Self::Absent);
        }
        blake3::Hash::from_hex(text).map(Self::File).map_err(|error| format!("{text}: {error}"))
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let top_text = |top: &Option<String>| top.clone().unwrap_or_else(|| "-".to_owned());
        match self {
            Self::Tracked { session, path, content } => write!(f, "tracked {session} {path}={content}"),
            Self::Point { session, id, files } => {
                write!(f, "point {session} {id}")?;
                files.iter().try_for_each(|(path, content)| write!(f, " {path}={content}"))
            }
            Self::RedoIntended { session, top } => write!(f, "redo-intended {session} {}", top_text(top)),
            Self::Redo { session, top } => write!(f, "redo {session} {}", top_text(top)),
            Self::Forked { from, to, points } => {
                write!(f, "forked {from} {to}")?;
                points.iter().try_for_each(|(old, new)| write!(f, " {old}={new}"))
            }
            Self::DropIntended { session } => write!(f, "drop-intended {session}"),
            Self::Dropped { session } => write!(f, "dropped {session}"),
            Self::Failed { why } => write!(f, "failed {}", why.replace('\n', " | ")),
        }
    }
}

impl FromStr for Promise {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let strange = || format!("not a promise: {line}");
        let (kind, rest) = line.split_once(' ').ok_or_else(strange)?;
        if kind == "failed" {
            return Ok(Self::Failed { why: rest.to_owned() });
        }
        let mut words = rest.split(' ').map(str::to_owned);
        let mut word = || words.next().ok_or_else(strange);
        let file = |text: &str| -> Result<(String, Content), String> {
            let (path, content) = text.rsplit_once('=').ok_or_else(strange)?;
            Ok((path.to_owned(), content.parse()?))
        };
        let session = word()?;
        let top_of = |text: String| (text != "-").then_some(text);
        let promise = match kind {
            "tracked" => {
                let (path, content) = file(&word()?)?;
                Self::Tracked { session, path, content }
            }
            "point" => {
                let id = word()?;
                Self::Point { session, id, files: words.map(|text| file(&text)).collect::<Result<_, _>>()? }
            }
            "redo-intended" => Self::RedoIntended { session, top: top_of(word()?) },
            "redo" => Self::Redo { session, top: top_of(word()?) },
            "forked" => {
                let to = word()?;
                let pair = |text: String| {
                    text.split_once('=').map(|(old, new)| (old.to_owned(), new.to_owned())).ok_or_else(strange)
                };
                Self::Forked { from: session, to, points: words.map(pair).collect::<Result<_, _>>()? }
            }
            "drop-intended" => Self::DropIntended { session },
            "dropped" => Self::Dropped { session },
            _ => return Err(strange()),
        };
        Ok(promise)
    }
}

/// What must be found of one session.
#[derive(Debug, Clone, Default)]
pub struct ExpectedSession {
    /// Points by id.
    pub points: BTreeMap<String, Files>,
    /// Pre-images of paths at the time they were first tracked.
    pub tracked: Files,
    /// What may be on top of the redo stack: one possibility, or two when a change was cut.
    pub redo_tops: Vec<Option<String>>,
    /// True when the session may be there or not: its drop was cut.
    pub may_be_gone: bool,
}

/// What must be found in a store.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Sessions that must be there, or may be.
    pub sessions: BTreeMap<String, ExpectedSession>,
    /// Sessions that must not be there.
    pub dropped: Vec<String>,
    /// What workers complained about, and lines that are no promises.
    pub failures: Vec<String>,
    /// How many promises there were.
    pub promises: usize,
}

impl Expected {
    /// Folds the lines of all lives, each slot's in the order in which they were lived.
    pub fn from_lives(lives: &[Life]) -> Self {
        let mut ordered: Vec<&Life> = lives.iter().collect();
        ordered.sort_by_key(|life| (life.slot, life.number));
        let mut expected = Self::default();
        for life in ordered {
            expected.add_lines(&life.ended.lines);
            if !life.ended.killed {
                expected.failures.push(format!("worker {} ended by itself: {}", life.number, life.ended.status));
            }
        }
        expected
    }

    /// Takes the lines of one worker into account.
    pub fn add_lines(&mut self, lines: &[String]) {
        for line in lines {
            match line.parse() {
                Ok(promise) => self.add(promise),
                Err(error) => self.failures.push(error),
            }
        }
    }

    /// Takes one more promise into account.
    pub fn add(&mut self, promise: Promise) {
        self.promises += 1;
        match promise {
            Promise::Tracked { session, path, content } => {
                self.session(session).tracked.entry(path).or_insert(content);
            }
            Promise::Point { session, id, files } => {
                self.session(session).points.insert(id, files);
            }
            Promise::RedoIntended { session, top } => self.session(session).redo_tops.push(top),
            Promise::Redo { session, top } => self.session(session).redo_tops = vec![top],
            Promise::Forked { from, to, points } => {
                let source = self.session(from).clone();
                // Points that no line told of may have been copied as well: nothing is expected of them.
                let told = |(old, new): &(String, String)| Some((new.clone(), source.points.get(old)?.clone()));
                let copy = ExpectedSession {
                    points: points.iter().filter_map(told).collect(),
                    tracked: source.tracked.clone(),
                    // The redo stack stays with the original.
                    redo_tops: vec![None],
                    may_be_gone: false,
                };
                self.sessions.insert(to, copy);
            }
            Promise::DropIntended { session } => self.session(session).may_be_gone = true,
            Promise::Dropped { session } => {
                self.sessions.remove(&session);
                self.dropped.push(session);
            }
            Promise::Failed { why } => self.failures.push(why),
        }
    }

    fn session(&mut self, id: String) -> &mut ExpectedSession {
        self.sessions.entry(id).or_insert_with(|| ExpectedSession { redo_tops: vec![None], ..Default::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, Expected, Promise};

    fn content(text: &str) -> Content {
        Content::File(blake3::hash(text.as_bytes()))
    }

    fn story() -> Vec<Promise> {
        let session = || "s1".to_owned();
        let files = [("a.txt".to_owned(), content("one")), ("b.txt".to_owned(), Content::Absent)];
        vec![
            Promise::Tracked { session: session(), path: "a.txt".to_owned(), content: content("one") },
            Promise::Point { session: session(), id: "p1".to_owned(), files: files.into() },
            Promise::RedoIntended { session: session(), top: Some("p1".to_owned()) },
            Promise::Redo { session: session(), top: Some("p1".to_owned()) },
            Promise::RedoIntended { session: session(), top: None },
            Promise::Forked {
                from: session(),
                to: "s2".to_owned(),
                points: vec![("p1".to_owned(), "q1".to_owned()), ("untold".to_owned(), "q0".to_owned())],
            },
            Promise::DropIntended { session: session() },
            Promise::Failed { why: "two\nlines".to_owned() },
        ]
    }

    #[test]
    fn promises_survive_the_pipe() {
        for promise in story() {
            let line = promise.to_string();
            assert!(!line.contains('\n'));
            let back: Promise = line.parse().unwrap();
            assert_eq!(back.to_string(), line);
        }
        assert!("point s1".parse::<Promise>().is_err());
        assert!("point s1 p1 a.txt=zz".parse::<Promise>().is_err());
        assert!("whatever s1".parse::<Promise>().is_err());
    }

    #[test]
    fn what_was_cut_may_be_either_way_and_the_rest_may_not() {
        let mut expected = Expected::default();
        story().into_iter().for_each(|promise| expected.add(promise));
        let one = &expected.sessions["s1"];
        assert_eq!(one.redo_tops, [Some("p1".to_owned()), None]);
        assert!(one.may_be_gone);
        let two = &expected.sessions["s2"];
        assert_eq!(two.points.len(), 1);
        assert_eq!(two.points["q1"]["b.txt"], Content::Absent);
        assert_eq!(two.redo_tops, [None]);
        assert!(!two.may_be_gone);
        assert_eq!(expected.failures, ["two\nlines"]);
        expected.add(Promise::Dropped { session: "s1".to_owned() });
        assert!(!expected.sessions.contains_key("s1"));
    }
}
