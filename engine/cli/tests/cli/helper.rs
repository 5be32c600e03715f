//! A home, a workspace and a store of its own for each test, and a way to run the program in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candy_store::{Point, PointKind, Session, SessionOptions, SnapshotRequest, Store, StoreOptions};
use serde_json::Value;

/// How a run ended.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Fails unless it ended so.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", String::from_utf8_lossy(&self.stdout), self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.ends(0)
    }

    /// Fails unless stderr holds all of these.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "no '{text}' in stderr: {}", self.stderr);
        }
        self
    }

    /// Each line of stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out().lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    }

    /// The one line of stdout as JSON.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        let mut lines = self.json();
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0)
    }
}

/// See the module.
pub(crate) struct Cli {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) store: PathBuf,
}

impl Cli {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, home) = (root.join("work"), root.join("home"));
        std::fs::create_dir(&work).unwrap();
        std::fs::create_dir(&home).unwrap();
        Self { _folder: folder, store: home.join(".pi/candy-store"), work, root }
    }

    /// The program, not yet run: in the workspace, with an environment that says nothing about stores or terminals.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candy-store"));
        for variable in ["CANDY_STORE_DIR", "PI_CODING_AGENT_DIR", "NO_COLOR"] {
            command.env_remove(variable);
        }
        command.args(arguments).current_dir(&self.work).env("HOME", self.root.join("home")).stdin(Stdio::null());
        command
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Run {
        finish(&mut self.command(arguments))
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work.join(name)).unwrap()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.work.join(name).symlink_metadata().is_ok()
    }

    /// A store as an agent's plugin opens it.
    pub(crate) fn open(&self) -> Store {
        Store::open(&self.store, &StoreOptions::default()).unwrap()
    }

    pub(crate) fn session(&self, store: &Store, id: &str) -> Session {
        let options = SessionOptions { id: id.into(), cwd: self.work.clone(), exclude: vec![], max_file_bytes: 0 };
        store.open_session(&options).unwrap()
    }

    /// A point before an operation of an agent, with these files tracked.
    pub(crate) fn point(&self, session: &str, prompt: &str, files: &[&str]) -> Point {
        let store = self.open();
        let session = self.session(&store, session);
        let request = SnapshotRequest {
            prompt: Some(prompt.to_owned()),
            add: files.iter().map(|name| self.work.join(name)).collect(),
            ..SnapshotRequest::of(PointKind::Operation)
        };
        session.snapshot(&request).unwrap().point
    }

    /// Three points of one session: `a.txt` is edited, `new.txt` comes, `a.txt` goes.
    pub(crate) fn story(&self) -> [Point; 3] {
        self.write("a.txt", "one\ntwo\nthree\n");
        let first = self.point("story", "edit a", &["a.txt", "new.txt"]);
        self.write("a.txt", "one\n2\nthree\n");
        self.write("new.txt", "new\n");
        let second = self.point("story", "remove a\nand more", &[]);
        std::fs::remove_file(self.work.join("a.txt")).unwrap();
        [first, second, self.point("story", "third", &[])]
    }

    /// The one segment file of the store.
    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.store.join("segments")).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }

    /// Damages the stored bytes that hold a text which was stored as it is.
    pub(crate) fn damage(&self, text: &[u8]) {
        for path in self.segments() {
            let mut bytes = std::fs::read(&path).unwrap();
            if let Some(at) = bytes.windows(text.len()).position(|window| window == text) {
                bytes[at] ^= 0xff;
                return std::fs::write(&path, bytes).unwrap();
            }
        }
        panic!("the text is in no segment");
    }
}

pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The identifier of a point, as a list shows it.
pub(crate) fn short(point: &Point) -> String {
    point.id.to_hex()[..8].to_owned()
}

/// Every file below a directory with its bytes and times, to tell whether anything was touched.
pub(crate) fn picture(directory: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut all = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            if meta.is_dir() {
                waiting.push(path);
            } else {
                all.push((path.clone(), std::fs::read(&path).unwrap_or_default(), meta.modified().unwrap()));
            }
        }
    }
    all.sort();
    all
}
