//! Bar 4: the plugin's TypeScript stays a thin layer over the addon.

use std::path::{Path, PathBuf};

use crate::bars::Line;
use crate::{Failure, workspace};

/// Lines from which on a file no longer fits in the head.
const LINES_MAX: usize = 250;

/// The one module that calls the addon, the one that loads it, and those that name its types only.
const ADDON_CALLERS: &[&str] = &["src/store.ts", "src/native.ts"];

/// Modules of Node that write or read the content of files: storing is the engine's.
const FILE_WORK: &[&str] = &["writeFile", "readFile", "createWriteStream", "copyFile", "rename(", "unlink", "rmSync"];

/// What may read a file all the same, and why: settings, the header of a session, the libc in use, the log.
const FILE_WORK_ALLOWED: &[&str] = &["src/settings-source.ts", "src/origin.ts", "src/native.ts", "src/log.ts"];

struct Source {
    name: String,
    text: String,
}

fn sources() -> Result<Vec<Source>, Failure> {
    let root = workspace::root().join("plugin");
    let mut found = Vec::new();
    let mut waiting = vec![root.join("src"), root.join("extensions")];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ts") {
                found.push(Source { name: name_below(&root, &path), text: std::fs::read_to_string(&path)? });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn name_below(root: &Path, path: &Path) -> String {
    let below: PathBuf = path.strip_prefix(root).unwrap_or(path).to_owned();
    below.to_string_lossy().into_owned()
}

/// Code without comments and texts in quotes, as far as a line tells.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//") && !line.starts_with('*') && !line.starts_with("/*"))
}

/// Whether the type checker is told to look away. Its directives are comments, its `any` is code.
fn uses_any(text: &str) -> bool {
    let words = [": any", "<any", "as any"];
    ["@ts-ignore", "@ts-expect-error", "@ts-nocheck"].iter().any(|directive| text.contains(directive))
        || code_lines(text).any(|line| {
            words.iter().any(|word| {
                let follows = |at: usize| line[at + word.len()..].chars().next();
                line.match_indices(word).any(|(at, _)| !follows(at).is_some_and(|c| c.is_alphanumeric() || c == '_'))
            })
        })
}

/// Whether a module imports values of the addon; its types are for everybody.
fn calls_addon(text: &str) -> bool {
    code_lines(text)
        .any(|line| line.starts_with("import ") && !line.starts_with("import type") && line.contains("native/"))
        || text.contains(".node\"")
}

/// Measures the lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let sources = sources()?;
    let named = |of: &dyn Fn(&Source) -> bool| -> Vec<&str> {
        sources.iter().filter(|source| of(source)).map(|source| source.name.as_str()).collect()
    };
    let long = named(&|source| source.text.lines().count() > LINES_MAX && !source.name.starts_with("src/text/"));
    let loose = named(&|source| uses_any(&source.text));
    let callers = named(&|source| calls_addon(&source.text) && !ADDON_CALLERS.contains(&source.name.as_str()));
    let storing = named(&|source| {
        !FILE_WORK_ALLOWED.contains(&source.name.as_str())
            && code_lines(&source.text).any(|line| FILE_WORK.iter().any(|word| line.contains(word)))
    });
    let longest = sources.iter().map(|source| source.text.lines().count()).max().unwrap_or(0);
    let of = |found: &[&str]| if found.is_empty() { format!("of {} files", sources.len()) } else { found.join(" ") };
    let strict = std::fs::read_to_string(workspace::root().join("plugin/tsconfig.json"))?.contains("\"strict\": true");
    Ok(vec![
        Line::none(&format!("files above {LINES_MAX} lines"), long.len(), &format!("{}, longest {longest}", of(&long))),
        Line::none("files with `any`", loose.len(), &of(&loose)),
        Line::none("modules besides store.ts that call the addon", callers.len(), &of(&callers)),
        Line::none("modules that store or read file contents", storing.len(), &of(&storing)),
        Line::none("compiler checks that are off", usize::from(!strict), "strict"),
    ])
}

#[cfg(test)]
mod tests {
    use super::{calls_addon, uses_any};

    #[test]
    fn any_is_found_as_a_type_and_not_as_a_word() {
        assert!(uses_any("const x: any = 1;"));
        assert!(uses_any("let y = f as any;"));
        assert!(uses_any("type T = Map<any, string>;"));
        assert!(uses_any("let z: any[] = [];"));
        assert!(uses_any("// @ts-ignore\nfoo();"));
        assert!(!uses_any("// any thing\nconst company: anything = 1;"));
    }

    #[test]
    fn types_of_the_addon_are_for_everybody() {
        assert!(!calls_addon("import type * as Native from \"../native/index.d.ts\";"));
        assert!(calls_addon("import { Store } from \"../native/index.js\";"));
    }
}
