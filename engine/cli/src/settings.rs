//! The `candyUndo` section of pi's global settings, as the plugin reads it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candy_store::exclude::DEFAULT_EXCLUDES;
use serde_json::Value;

use crate::text::printable_path;

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// What this program needs of the section. A value that makes no sense counts as not set, as in the plugin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Directory that holds the store as `store/`.
    pub(crate) storage_dir: Option<PathBuf>,
    /// Patterns of files that are never tracked, the defaults among them.
    pub(crate) exclude: Vec<String>,
    /// Larger files are not captured; 0 = no limit.
    pub(crate) max_file_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self::of_section(&Value::Null, None)
    }
}

/// The user's home directory.
pub(crate) fn home() -> Option<PathBuf> {
    env::home_dir().filter(|home| home.is_absolute())
}

fn expand_home(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match (path.strip_prefix('~'), home) {
        (Some(""), home) => home.map(Path::to_path_buf),
        (Some(rest), home) if rest.starts_with('/') => home.map(|home| home.join(rest.trim_start_matches('/'))),
        _ => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
    }
}

impl Settings {
    /// Reads the global file. A file that does not parse is worth a warning: the store may be elsewhere.
    pub(crate) fn read_global() -> (Self, Option<String>) {
        let home = home();
        let agent_dir = env::var("PI_CODING_AGENT_DIR").ok().filter(|dir| !dir.is_empty());
        let agent_dir = match agent_dir {
            Some(dir) => expand_home(&dir, home.as_deref()).or_else(|| std::path::absolute(dir).ok()),
            None => home.as_ref().map(|home| home.join(".pi").join("agent")),
        };
        match agent_dir {
            Some(directory) => Self::read(&directory.join("settings.json"), home.as_deref()),
            None => (Self::default(), None),
        }
    }

    fn read(path: &Path, home: Option<&Path>) -> (Self, Option<String>) {
        let cannot = |why: &dyn std::fmt::Display| {
            let path = printable_path(path);
            (Self::default(), Some(format!("cannot read pi's settings {path}: {why}; the defaults are used")))
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (Self::default(), None),
            Err(error) => return cannot(&error),
        };
        match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
            Ok(settings) => (Self::of_section(&settings["candyUndo"], home), None),
            Err(error) => cannot(&error),
        }
    }

    fn of_section(section: &Value, home: Option<&Path>) -> Self {
        let storage_dir = section["storageDir"].as_str().and_then(|path| expand_home(path, home));
        let with_defaults = section["excludeDefaults"].as_bool().unwrap_or(true);
        let defaults = DEFAULT_EXCLUDES.iter().filter(|_| with_defaults).map(|pattern| (*pattern).to_owned());
        let own = section["exclude"].as_array().and_then(|patterns| strings(patterns)).unwrap_or_default();
        let megabytes = section["maxFileSizeMB"].as_f64().filter(|size| *size >= 0.0).unwrap_or(100.0);
        Self {
            storage_dir,
            exclude: defaults.chain(own).collect(),
            max_file_bytes: (megabytes * MEBIBYTE).round() as u64,
        }
    }
}

/// The strings of a list that holds nothing else.
fn strings(values: &[Value]) -> Option<Vec<String>> {
    values.iter().map(|value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn storage_dir(value: Value) -> Option<PathBuf> {
        Settings::of_section(&json!({ "storageDir": value }), Some(Path::new("/home/u"))).storage_dir
    }

    #[test]
    fn a_home_is_expanded_and_a_relative_directory_is_not_used() {
        assert_eq!(storage_dir(json!("~")), Some("/home/u".into()));
        assert_eq!(storage_dir(json!("~/x/y")), Some("/home/u/x/y".into()));
        assert_eq!(storage_dir(json!("/data")), Some("/data".into()));
        assert_eq!(storage_dir(json!("data")), None);
        assert_eq!(storage_dir(json!("~other/x")), None);
        assert_eq!(storage_dir(json!(null)), None);
        assert_eq!(storage_dir(json!(7)), None);
    }

    #[test]
    fn own_patterns_come_after_the_defaults_so_that_they_win() {
        let settings = Settings::of_section(&json!({ "exclude": ["!dist/**"] }), None);
        assert_eq!(settings.exclude.len(), DEFAULT_EXCLUDES.len() + 1);
        assert_eq!(settings.exclude.last().map(String::as_str), Some("!dist/**"));
        let settings = Settings::of_section(&json!({ "exclude": ["a", 1], "excludeDefaults": false }), None);
        assert!(settings.exclude.is_empty());
    }

    #[test]
    fn a_missing_file_means_defaults_and_a_broken_one_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        assert_eq!(Settings::read(&path, None), (Settings::default(), None));
        #[allow(clippy::disallowed_methods, reason = "the file belongs to no store")]
        std::fs::write(&path, "{").unwrap();
        let (settings, warning) = Settings::read(&path, None);
        assert_eq!(settings, Settings::default());
        assert!(warning.unwrap().contains("settings.json"));
    }

    #[test]
    fn the_limit_of_sizes_is_in_mebibytes() {
        let limit = |value: Value| Settings::of_section(&json!({ "maxFileSizeMB": value }), None).max_file_bytes;
        assert_eq!(limit(json!(0.5)), 512 << 10);
        assert_eq!(limit(json!(0)), 0);
        assert_eq!(limit(json!(-1)), 100 << 20);
    }
}
