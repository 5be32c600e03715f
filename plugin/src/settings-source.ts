/** Where the settings come from: pi's merged settings, or the two files for a pi that cannot hand them out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface SettingsFiles {
	/** `~/.pi/agent` unless configured otherwise. */
	agentDir: string;
	/** `.pi` */
	configDirName: string;
}

type Json = Record<string, unknown>;

function isJson(value: unknown): value is Json {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in the file; `undefined` when there is no file, `"unreadable"` when it cannot be understood. */
function readObject(path: string): Json | undefined | "unreadable" {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch (thrown) {
		// One that is there and cannot be read may say anything.
		const code: unknown = typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, "code") : undefined;
		return code === "ENOENT" || code === "ENOTDIR" ? undefined : "unreadable";
	}
	try {
		const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
		return isJson(value) ? value : "unreadable";
	} catch {
		return "unreadable";
	}
}

function section(settings: Json | undefined): Json {
	const value = settings?.["candyUndo"];
	return isJson(value) ? value : {};
}

export interface SettingsFromFiles {
	section: unknown;
	/** A file exists but does not parse: what it says about cleaning up is unknown. */
	unreadable: string[];
}

/** Global file, overlaid field by field with the project's when the project is trusted. */
export function readSettingsFiles(files: SettingsFiles, cwd: string, trusted: boolean): SettingsFromFiles {
	const paths = [join(files.agentDir, "settings.json")];
	if (trusted) paths.push(join(cwd, files.configDirName, "settings.json"));
	const unreadable: string[] = [];
	const merged: Json = {};
	for (const path of paths) {
		const value = readObject(path);
		const own = value === "unreadable" ? undefined : value?.["candyUndo"];
		if (value === "unreadable") unreadable.push(path);
		else if (own !== undefined && own !== null && !isJson(own)) return { section: own, unreadable };
		else {
			for (const [key, field] of Object.entries(section(value))) {
				if (field !== null) merged[key] = field;
			}
		}
	}
	return { section: merged, unreadable };
}

/**
 * The section as pi merged it. A project's `null` hides the user's own value there, but means "not set": the files
 * still know that value.
 */
export function fillNulls(merged: unknown, fromFiles: unknown): unknown {
	if (!isJson(merged)) return merged ?? fromFiles;
	const known = isJson(fromFiles) ? fromFiles : {};
	return Object.fromEntries(Object.entries(merged).map(([key, value]) => [key, value ?? known[key]]));
}
