/** What the tests of the addon share. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Another build can be tested by naming it. */
export const addonPath =
	process.env.CANDY_STORE_ADDON ?? fileURLToPath(new URL("../pi-candy-undo.node", import.meta.url));

export const addon = createRequire(import.meta.url)(addonPath);

/** A directory with a workspace in it, gone after the test. */
export function scratch(t) {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "candy-addon-")));
	// A store whose JavaScript was terminated still finishes the call it is in, and may add a file meanwhile.
	t.after(() => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
	const cwd = join(root, "work");
	mkdirSync(cwd);
	return { root, cwd, path: join(root, "store"), file: (name) => join(cwd, name) };
}

/** An open store and session, closed after the test. */
export async function opened(t, options = {}) {
	const place = scratch(t);
	const store = await addon.Store.open({ path: place.path, workspace: place.cwd, ...options.store });
	t.after(() => store.close());
	const session = await store.openSession(sessionOptions(place.cwd, options.session));
	return { ...place, store, session };
}

export function sessionOptions(cwd, more = {}) {
	return { id: "session-1", cwd, exclude: [], maxFileSizeBytes: 0, ...more };
}

/** The promise must reject with this code, and with a hint. */
export async function rejects(promise, code, more = {}) {
	const error = await promise.then(
		() => assert.fail(`resolved instead of rejecting with ${code}`),
		(thrown) => thrown,
	);
	assert.ok(error instanceof Error, `${error} is no Error`);
	assert.equal(error.code, code, error.message);
	assert.equal(typeof error.hint, "string");
	assert.notEqual(error.hint, "");
	for (const [key, value] of Object.entries(more)) assert.equal(error[key], value);
	return error;
}

/** Checks names and types of an object's properties; a `?` marks those that may be missing, which then have no key. */
export function shape(value, expected) {
	assert.equal(typeof value, "object");
	const allowed = new Set(Object.keys(expected).map((key) => key.replace("?", "")));
	for (const key of Object.keys(value)) assert.ok(allowed.has(key), `unexpected property ${key}`);
	for (const [name, type] of Object.entries(expected)) {
		const key = name.replace("?", "");
		if (name.endsWith("?") && !(key in value)) continue;
		const found = Array.isArray(value[key]) ? "array" : typeof value[key];
		assert.equal(found, type, `${key} is ${found}`);
	}
}

export const POINT = {
	id: "string",
	seq: "number",
	kind: "string",
	createdAt: "number",
	"entryId?": "string",
	"prompt?": "string",
	files: "number",
	changed: "number",
	gaps: "array",
};

export const OUTCOME = {
	redoPoint: "object",
	restored: "number",
	unchanged: "number",
	skipped: "number",
	failed: "array",
	kept: "array",
	emptied: "array",
};
