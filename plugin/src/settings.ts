/** The `candyUndo` section of pi's settings: defaults, checks, and where the store is. */
import { posix, win32 } from "node:path";
import { expandHome } from "./paths.ts";
import type { Language } from "./text/index.ts";

export interface Settings {
	enabled: boolean;
	language: Language | "auto";
	/** Undefined: the store is `~/.pi/candy-store`. */
	storageDir: string | undefined;
	exclude: string[];
	excludeDefaults: boolean;
	trackedTools: string[];
	/** 0 = no limit. */
	maxFileSizeMB: number;
	maxSnapshotsPerSession: number;
	maxRedoStackSize: number;
	/** 0 = sessions are kept for ever. */
	cleanupPeriodDays: number;
	pickerLimit: number;
	protectManualEdits: boolean;
	/** Whether the model is told of files that an undo took back. */
	notifyModel: boolean;
	log: boolean;
}

/** A value that was not used. `used` is what holds instead. */
export interface SettingsWarning {
	key: string;
	value: string;
	used: string;
}

export const DEFAULT_SETTINGS: Readonly<Settings> = {
	enabled: true,
	language: "zh",
	storageDir: undefined,
	exclude: [],
	excludeDefaults: true,
	trackedTools: ["write", "edit"],
	maxFileSizeMB: 100,
	maxSnapshotsPerSession: 200,
	maxRedoStackSize: 50,
	cleanupPeriodDays: 30,
	pickerLimit: 100,
	protectManualEdits: false,
	notifyModel: true,
	log: false,
};

/** Patterns that hold unless `excludeDefaults` is false. The user's come after them, so `!` re-includes. */
export const DEFAULT_EXCLUDES: readonly string[] = [
	".git/**",
	"node_modules/**",
	"dist/**",
	"build/**",
	"**/.env*",
	"*.lock",
	"coverage/**",
];

type Check<T> = (value: unknown) => value is T;

const isBoolean: Check<boolean> = (value) => typeof value === "boolean";
const isStrings: Check<string[]> = (value): value is string[] =>
	Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "");
const isLanguage: Check<Settings["language"]> = (value) => value === "zh" || value === "en" || value === "auto";
const isNumberFrom =
	(min: number): Check<number> =>
	(value): value is number =>
		typeof value === "number" && Number.isFinite(value) && value >= min;
const isCountFrom =
	(min: number): Check<number> =>
	(value): value is number =>
		isNumberFrom(min)(value) && Number.isInteger(value);
/** A relative path would depend on where pi was started, and usually lie inside the workspace. */
const isDirectory: Check<string> = (value): value is string =>
	typeof value === "string" && (/^~([/\\]|$)/.test(value) || posix.isAbsolute(value) || win32.isAbsolute(value));

const CHECKS: { [K in keyof Settings]: Check<NonNullable<Settings[K]>> } = {
	enabled: isBoolean,
	language: isLanguage,
	storageDir: isDirectory,
	exclude: isStrings,
	excludeDefaults: isBoolean,
	trackedTools: isStrings,
	maxFileSizeMB: isNumberFrom(0),
	maxSnapshotsPerSession: isCountFrom(1),
	maxRedoStackSize: isCountFrom(1),
	cleanupPeriodDays: isNumberFrom(0),
	pickerLimit: isCountFrom(1),
	protectManualEdits: isBoolean,
	notifyModel: isBoolean,
	log: isBoolean,
};

/**
 * What holds in place of an unusable value. Deleting too much is worse than keeping too much, so an unreadable
 * `cleanupPeriodDays` switches the cleanup off rather than on.
 */
const FALLBACKS: Readonly<Settings> = { ...DEFAULT_SETTINGS, cleanupPeriodDays: 0 };

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
	return JSON.stringify(value) ?? String(value);
}

/** Reads the merged section. `null` and missing fields mean "not set". */
export function parseSettings(section: unknown): { settings: Settings; warnings: SettingsWarning[] } {
	const warnings: SettingsWarning[] = [];
	if (section === undefined || section === null) return { settings: { ...DEFAULT_SETTINGS }, warnings };
	if (!isRecord(section)) {
		warnings.push({ key: "candyUndo", value: shown(section), used: "{}" });
		return { settings: { ...FALLBACKS }, warnings };
	}
	const read = <K extends keyof Settings>(key: K): Settings[K] => {
		const value = Object.hasOwn(section, key) ? section[key] : undefined;
		if (value === undefined || value === null) return DEFAULT_SETTINGS[key];
		if (CHECKS[key](value)) return value;
		warnings.push({ key, value: shown(value), used: shown(FALLBACKS[key]) });
		return FALLBACKS[key];
	};
	const settings: Settings = {
		enabled: read("enabled"),
		language: read("language"),
		storageDir: read("storageDir"),
		exclude: read("exclude"),
		excludeDefaults: read("excludeDefaults"),
		trackedTools: read("trackedTools"),
		maxFileSizeMB: read("maxFileSizeMB"),
		maxSnapshotsPerSession: read("maxSnapshotsPerSession"),
		maxRedoStackSize: read("maxRedoStackSize"),
		cleanupPeriodDays: read("cleanupPeriodDays"),
		pickerLimit: read("pickerLimit"),
		protectManualEdits: read("protectManualEdits"),
		notifyModel: read("notifyModel"),
		log: read("log"),
	};
	return { settings, warnings };
}

/** The patterns for the addon, in the order in which the last match wins. */
export function excludePatterns(settings: Pick<Settings, "exclude" | "excludeDefaults">): string[] {
	return settings.excludeDefaults ? [...DEFAULT_EXCLUDES, ...settings.exclude] : [...settings.exclude];
}

export function maxFileSizeBytes(settings: Pick<Settings, "maxFileSizeMB">): number {
	return Math.round(settings.maxFileSizeMB * 1024 * 1024);
}

/** Directory of the store, and of the log beside it. */
export function storePlaces(
	settings: Pick<Settings, "storageDir">,
	machine: { home: string; platform: NodeJS.Platform },
): { store: string; log: string } {
	const api = machine.platform === "win32" ? win32 : posix;
	const store =
		settings.storageDir === undefined
			? api.join(machine.home, ".pi", "candy-store")
			: api.join(expandHome(settings.storageDir, machine), "store");
	return { store, log: api.join(api.dirname(store), "undo.log") };
}
