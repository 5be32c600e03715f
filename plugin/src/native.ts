/**
 * Loads the addon. There is no fallback in JavaScript: without a binary the plugin stays off and says why.
 *
 * Unit tests do not come through here: they hand `install` (plugin.ts) their own `loadNative`.
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type * as Native from "../native/index.d.ts";
import { CandyError } from "./errors.ts";

export type NativeModule = typeof Native;

const LOCAL_BINARY = "../native/pi-candy-undo.node";

/** musl and glibc binaries do not load in each other's place. */
export function libcSuffix(platform: NodeJS.Platform, readFile: (path: string) => string): string {
	if (platform !== "linux") return "";
	try {
		return readFile("/usr/bin/ldd").includes("musl") ? "-musl" : "-gnu";
	} catch {
		return existsSync("/etc/alpine-release") ? "-musl" : "-gnu";
	}
}

/** Name of the package that holds the binary of this platform. */
export function platformPackage(): string {
	const libc = libcSuffix(process.platform, (path) => readFileSync(path, "latin1"));
	return `pi-candy-undo-${process.platform}-${process.arch}${libc}`;
}

function isNativeModule(value: unknown): value is NativeModule {
	return typeof value === "object" && value !== null && typeof Reflect.get(value, "Store") === "function";
}

function reasonOf(thrown: unknown): string {
	const message = thrown instanceof Error ? thrown.message : String(thrown);
	return message.split("\n", 1)[0] ?? message;
}

/** The addon: the file beside this package first (a build from source), then the platform's package. */
export function loadNative(): NativeModule {
	const require = createRequire(import.meta.url);
	const local = fileURLToPath(new URL(LOCAL_BINARY, import.meta.url));
	const candidates = existsSync(local) ? [local, platformPackage()] : [platformPackage()];
	const reasons: string[] = [];
	for (const candidate of candidates) {
		try {
			const loaded: unknown = require(candidate);
			if (isNativeModule(loaded)) return loaded;
			reasons.push(`${candidate}: not this addon`);
		} catch (thrown) {
			reasons.push(reasonOf(thrown));
		}
	}
	throw new CandyError(reasons.join("; "), { code: "CANDY_NO_ADDON", path: local });
}
