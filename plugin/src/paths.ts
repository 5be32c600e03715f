/**
 * The path a pi file tool really works on.
 *
 * pi does not export its rules, and a path resolved by other rules is recorded as absent, so that undo would delete a
 * real file. The order is pi's: Unicode spaces, one leading `@`, Windows shell drives, `~`, `file://`, then the working
 * directory.
 */
import { posix, win32 } from "node:path";
import { fileURLToPath } from "node:url";

export interface PathSurroundings {
	cwd: string;
	home: string;
	platform: NodeJS.Platform;
}

const UNICODE_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;
const WINDOWS_SHELL_DRIVE = /^\/(?:mnt\/|cygdrive\/)?([a-z])(?:\/(.*))?$/i;

/** `/c/x`, `/mnt/c/x` and `/cygdrive/c/x` as native Windows paths; anything else is returned as it is. */
function fromShellDrive(path: string): string {
	if (!path.startsWith("/") || path.startsWith("//") || path.includes("\\")) return path;
	const match = WINDOWS_SHELL_DRIVE.exec(path);
	if (!match?.[1]) return path;
	return `${match[1].toUpperCase()}:\\${match[2]?.replaceAll("/", "\\") ?? ""}`;
}

function expand(path: string, { home, platform }: PathSurroundings): string {
	const windows = platform === "win32";
	const native = windows ? fromShellDrive(path) : path;
	if (native === "~") return home;
	if (native.startsWith("~/") || (windows && native.startsWith("~\\"))) {
		return (windows ? win32 : posix).join(home, native.slice(2));
	}
	return /^file:\/\//.test(native) ? fileURLToPath(native, { windows }) : native;
}

/**
 * The absolute path, or undefined where pi's own tool would fail on the input before touching any file
 * (a malformed `file://` address).
 */
export function resolveToolPath(input: string, surroundings: PathSurroundings): string | undefined {
	const api = surroundings.platform === "win32" ? win32 : posix;
	const spaced = input.replace(UNICODE_SPACES, " ");
	const bare = spaced.startsWith("@") ? spaced.slice(1) : spaced;
	try {
		const expanded = expand(bare, surroundings);
		return api.isAbsolute(expanded)
			? api.resolve(expanded)
			: api.resolve(expand(surroundings.cwd, surroundings), expanded);
	} catch {
		return undefined;
	}
}

/** Expands a leading `~` of a setting. */
export function expandHome(path: string, { home, platform }: Pick<PathSurroundings, "home" | "platform">): string {
	const api = platform === "win32" ? win32 : posix;
	if (path === "~") return home;
	return path.startsWith("~/") || (platform === "win32" && path.startsWith("~\\"))
		? api.join(home, path.slice(2))
		: path;
}

/** Words of a command that are looked at: a script pasted as one names hundreds. */
const WORDS_MAX = 64;

const SHELL_WORD = /"([^"]*)"|'([^']*)'|([^\s"'`;|&<>(){}$=]+)/g;

/** The paths that a shell command may name, as far as its words tell: no variables, no patterns, no `cd`. */
export function namedPaths(command: string, surroundings: PathSurroundings): string[] {
	const api = surroundings.platform === "win32" ? win32 : posix;
	const paths = new Set<string>();
	for (const [, double, single, bare] of command.matchAll(SHELL_WORD)) {
		if (paths.size === WORDS_MAX) break;
		const word = double ?? single ?? bare ?? "";
		if (word === "" || word.startsWith("-") || word.includes("\0") || word.includes("\n")) continue;
		paths.add(api.resolve(surroundings.cwd, expandHome(word, surroundings)));
	}
	return [...paths];
}
