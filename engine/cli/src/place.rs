//! Where the store is: `--store`, else `CANDY_STORE_DIR`, else where pi's settings put it, else `~/.pi/candy-store`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use candy_store::ErrorKind;

use crate::failure::{Failure, Result};
use crate::settings::{Settings, home};

/// A path and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) why: &'static str,
}

impl Place {
    /// Adds where the path came from: "there is no store" is most often a wrong path.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        if failure.code() == ErrorKind::NoStore.code() {
            return failure.hint(format!(
                "the path comes from {}; name another one with --store, or let the plugin or `candy-store snapshot` \
                 make the store",
                self.why
            ));
        }
        failure
    }
}

/// The place that was asked for, on the command line or in the environment.
pub(crate) fn given(option: Option<&Path>) -> Result<Option<Place>> {
    choose(option, env::var_os("CANDY_STORE_DIR"))
        .map(|Place { path, why }| {
            let path = std::path::absolute(&path)
                .map_err(|error| Failure::usage(format!("cannot use the path of the store: {error}")))?;
            Ok(Place { path, why })
        })
        .transpose()
}

fn choose(option: Option<&Path>, variable: Option<OsString>) -> Option<Place> {
    if let Some(path) = option {
        return Some(Place { path: path.to_path_buf(), why: "--store" });
    }
    let variable = variable.filter(|path| !path.is_empty())?;
    Some(Place { path: variable.into(), why: "CANDY_STORE_DIR" })
}

/// The place that pi's settings mean.
pub(crate) fn of_settings(settings: &Settings) -> Result<Place> {
    if let Some(directory) = &settings.storage_dir {
        return Ok(Place { path: directory.join("store"), why: "pi's settings" });
    }
    let home = home().ok_or_else(|| {
        Failure::new(ErrorKind::NoStore, "cannot find the store: HOME is not set")
            .hint("name the store with --store or CANDY_STORE_DIR")
    })?;
    Ok(Place { path: home.join(".pi").join("candy-store"), why: "the default" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let place = choose(Some(Path::new("/a")), Some("/b".into())).unwrap();
        assert_eq!((place.path.as_path(), place.why), (Path::new("/a"), "--store"));
        let place = choose(None, Some("/b".into())).unwrap();
        assert_eq!((place.path.as_path(), place.why), (Path::new("/b"), "CANDY_STORE_DIR"));
        assert_eq!(choose(None, Some("".into())), None);
        assert_eq!(choose(None, None), None);
    }

    #[test]
    fn a_configured_directory_holds_the_store_as_a_folder_of_its_own() {
        let settings = Settings { storage_dir: Some("/data/pi".into()), ..Settings::default() };
        assert_eq!(of_settings(&settings).unwrap().path, Path::new("/data/pi/store"));
    }
}
