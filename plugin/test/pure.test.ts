import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { unansweredUserMessages, userMessagesAfter } from "../src/branch.ts";
import { commandClashes } from "../src/commands.ts";
import { toCandyError } from "../src/errors.ts";
import { toolGap } from "../src/gaps.ts";
import { libcSuffix } from "../src/native.ts";
import { readOrigin } from "../src/origin.ts";
import { resolveToolPath } from "../src/paths.ts";
import { cutColumns, oneLine } from "../src/rows.ts";
import { DEFAULT_EXCLUDES, DEFAULT_SETTINGS, excludePatterns, parseSettings, storePlaces } from "../src/settings.ts";
import { type Entry, LANGUAGES, Texts } from "../src/text/index.ts";
import { ListModel } from "../src/ui/list-model.ts";

const posix = { cwd: "/w", home: "/h", platform: "linux" as const };
const windows = { cwd: "C:\\w", home: "C:\\h", platform: "win32" as const };

test("tool paths resolve the way pi's own tools resolve them", () => {
	const cases: [string, string | undefined][] = [
		["a.txt", "/w/a.txt"],
		["./a", "/w/a"],
		["d/../a", "/w/a"],
		["/abs/x", "/abs/x"],
		["~", "/h"],
		["~/x.md", "/h/x.md"],
		["~user/x", "/w/~user/x"],
		["@a.md", "/w/a.md"],
		["@@a.md", "/w/@a.md"],
		["@~/x", "/h/x"],
		["a\u00a0b.md", "/w/a b.md"],
		["a\u2003b\u3000c", "/w/a b c"],
		["a\u200bb", "/w/a\u200bb"],
		["file:///tmp/w/a%20b.md", "/tmp/w/a b.md"],
		["@file:///tmp/x", "/tmp/x"],
		["file://host/x", undefined],
		["a\\b", "/w/a\\b"],
		["..name", "/w/..name"],
		["__proto__", "/w/__proto__"],
		[" a", "/w/ a"],
		["/c/x", "/c/x"],
		["中文 🍬.txt", "/w/中文 🍬.txt"],
	];
	for (const [input, wanted] of cases) assert.equal(resolveToolPath(input, posix), wanted, input);
});

test("shell drives and backslashes mean something on Windows only", () => {
	const cases: [string, string][] = [
		["/c/x/y", "C:\\x\\y"],
		["/mnt/d/x", "D:\\x"],
		["/cygdrive/e", "E:\\"],
		["~\\x", "C:\\h\\x"],
		["a/b", "C:\\w\\a\\b"],
	];
	for (const [input, wanted] of cases) assert.equal(resolveToolPath(input, windows), wanted, input);
});

const placeholders = (entry: Entry): string[] => {
	const forms = typeof entry === "string" ? [entry] : Object.values(entry);
	return [...new Set(forms.flatMap((form) => [...form.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "")))].sort();
};

test("the languages have the same keys and placeholders", () => {
	assert.deepEqual(Object.keys(LANGUAGES.zh).sort(), Object.keys(LANGUAGES.en).sort());
	for (const [key, entry] of Object.entries(LANGUAGES.en)) {
		assert.deepEqual(placeholders(Reflect.get(LANGUAGES.zh, key)), placeholders(entry), key);
	}
});

test("no text has a '(s)' plural", () => {
	for (const entry of Object.values<Entry>(LANGUAGES.en)) assert.doesNotMatch(JSON.stringify(entry), /\(s\)/);
});

test("counts pick the plural form", () => {
	const en = new Texts("en");
	assert.equal(en.t("row.files", { count: 1 }), "1 file");
	assert.equal(en.t("row.files", { count: 1200 }), "1,200 files");
	assert.equal(new Texts("zh").t("row.files", { count: 1 }), "1 个文件");
});

test("ages are relative for a month and dates after that", () => {
	const en = new Texts("en");
	const now = Date.UTC(2026, 5, 15);
	assert.equal(en.ago(now - 1000, now), "just now");
	assert.equal(en.ago(now + 5000, now), "just now");
	assert.equal(en.ago(now - 5 * 60_000, now), "5 minutes ago");
	assert.equal(en.ago(now - 3 * 3_600_000, now), "3 hours ago");
	assert.equal(en.ago(now - 30 * 86_400_000, now), "30 days ago");
	assert.match(en.ago(now - 40 * 86_400_000, now), /2026/);
	assert.equal(new Texts("zh").ago(now - 5 * 60_000, now), "5分钟前");
});

test("unset settings are the defaults", () => {
	for (const section of [undefined, null, {}, { enabled: null }]) {
		assert.deepEqual(parseSettings(section), { settings: DEFAULT_SETTINGS, warnings: [] });
	}
});

test("unusable settings fall back with a warning each, and never to a shorter memory", () => {
	const { settings, warnings } = parseSettings({
		enabled: "yes",
		language: "fr",
		storageDir: "relative/dir",
		exclude: "*.log",
		trackedTools: [1],
		maxFileSizeMB: -1,
		maxSnapshotsPerSession: 0,
		pickerLimit: 1.5,
		cleanupPeriodDays: "3650",
	});
	assert.deepEqual(settings, { ...DEFAULT_SETTINGS, cleanupPeriodDays: 0 });
	assert.equal(warnings.length, 9);
	assert.deepEqual(parseSettings([]).warnings.length, 1);
});

test("names of the prototype are no settings", () => {
	assert.deepEqual(parseSettings(JSON.parse('{"__proto__":{"enabled":false}}')).settings, DEFAULT_SETTINGS);
});

test("user patterns come after the defaults, so that they win", () => {
	assert.deepEqual(excludePatterns({ exclude: ["!dist/**"], excludeDefaults: true }), [
		...DEFAULT_EXCLUDES,
		"!dist/**",
	]);
	assert.deepEqual(excludePatterns({ exclude: ["x"], excludeDefaults: false }), ["x"]);
});

test("the store is never directly in a storage folder that other programs clean", () => {
	const machine = { home: "/h", platform: "linux" as const };
	assert.equal(storePlaces({ storageDir: undefined }, machine).store, "/h/.pi/candy-store");
	assert.deepEqual(storePlaces({ storageDir: "~/x" }, machine), { store: "/h/x/store", log: "/h/x/undo.log" });
	assert.equal(storePlaces({ storageDir: "/d" }, machine).store, "/d/store");
});

const user = (id: string) => ({
	type: "message",
	id,
	parentId: null,
	timestamp: "",
	message: { role: "user", content: id },
});
const answer = (id: string) => ({ type: "message", id, parentId: null, timestamp: "", message: { role: "assistant" } });

test("the messages of a run are those after the leaf it started from", () => {
	const branch = [user("a"), answer("b"), user("c"), user("d")];
	const ids = (entries: { id: string }[]) => entries.map((entry) => entry.id);
	assert.deepEqual(ids(userMessagesAfter(branch, "b")), ["c", "d"]);
	assert.deepEqual(ids(userMessagesAfter(branch, null)), ["a", "c", "d"]);
	assert.deepEqual(ids(userMessagesAfter(branch, "elsewhere")), []);
	assert.deepEqual(ids(unansweredUserMessages(branch)), ["c", "d"]);
});

test("text is cut between characters as people see them", () => {
	const columns = (text: string) => [...new Intl.Segmenter().segment(text)].length;
	assert.equal(cutColumns("short", 10, columns), "short");
	assert.equal(cutColumns("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 3, columns), "👨‍👩‍👧👨‍👩‍👧…");
	assert.equal(oneLine(" a\n\tb\x1b[31m\u0007c "), "a b [31m c");
});

test("only tools that may write leave a gap", () => {
	const tools = [
		{ name: "ask" },
		{ name: "get", annotations: { readOnlyHint: true } },
		{ name: "put", annotations: {} },
	];
	assert.deepEqual(
		["bash", "ask", "get", "put"].map((name) => toolGap(name, tools)),
		["bash", undefined, undefined, "tool:put"],
	);
});

test("a foreign /undo is named, our own is not", () => {
	const command = (name: string, path: string, source = "extension") => ({ name, source, sourceInfo: { path } });
	const commands = [
		command("undo:1", "/self"),
		command("undo:2", "/other"),
		command("undoer", "/x"),
		command("undo", "/t", "prompt"),
	];
	const pi = { getCommands: () => commands } as unknown as Parameters<typeof commandClashes>[0];
	assert.deepEqual(commandClashes(pi, "/self"), [{ name: "undo", path: "/other" }]);
});

test("anything thrown becomes an error with a code", () => {
	assert.equal(toCandyError("x").code, "CANDY_INTERNAL");
	const lifted = toCandyError(Object.assign(new Error("no"), { code: "CANDY_IO", hint: "h", path: "/p" }));
	assert.deepEqual([lifted.code, lifted.hint, lifted.path, lifted.message], ["CANDY_IO", "h", "/p", "no"]);
	assert.equal(toCandyError(lifted), lifted);
});

test("the C library decides about the Linux package", () => {
	assert.equal(
		libcSuffix("linux", () => "ld-musl"),
		"-musl",
	);
	assert.equal(
		libcSuffix("linux", () => "GNU"),
		"-gnu",
	);
	assert.equal(
		libcSuffix("darwin", () => "musl"),
		"",
	);
});

test("a fork's parent is known from its header, or from its name when it is gone", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "candy-origin-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const file = join(folder, "2026-01-01_0197-aa.jsonl");
	assert.deepEqual(await readOrigin(file), { id: "0197-aa", cwd: undefined });
	writeFileSync(file, `${JSON.stringify({ type: "session", id: "real", cwd: "/w" })}\n{}\n`);
	assert.deepEqual(await readOrigin(file), { id: "real", cwd: "/w" });
	assert.equal(await readOrigin(join(folder, "unnamed")), undefined);
});

test("the list pages, filters and keeps the selection", () => {
	const list = new ListModel(
		Array.from({ length: 30 }, (_, index) => ({ label: `${index}`, ...(index === 7 ? { search: "a needle" } : {}) })),
	);
	list.page(1, 12);
	assert.deepEqual(list.visible(12).map((row) => row.index)[0], 12);
	assert.equal(list.selected, 12);
	list.page(1, 12);
	list.page(1, 12);
	assert.equal(list.selected, 29);
	list.move(1);
	assert.equal(list.selected, 0);
	list.move(-1);
	assert.equal(list.selected, 29);
	list.setFilter("NEEDLE a");
	assert.deepEqual([list.selected, list.matchCount], [7, 1]);
	list.setLabel(3, "a needle too");
	assert.deepEqual([list.selected, list.matchCount, list.position], [7, 2, 2]);
	list.setFilter("x👨‍👩‍👧");
	assert.deepEqual([list.selected, list.position], [undefined, 0]);
	list.move(1);
	list.eraseOne();
	assert.equal(list.filter, "x");
	list.setFilter("");
	assert.equal(list.matchCount, 30);
});

test("nothing that a file's name holds reaches the terminal as a command", () => {
	const texts = new Texts("en");
	const said = texts.t("notice.notTracked", { path: "a\x1b[31mred\u202e\u0007.txt\nnext", reason: "excluded" });
	assert.ok(!/[\x00-\x09\x0b-\x1f\u202e]/.test(said), said);
	assert.match(said, /^a\^\[\[31mred<U\+202E>\^G\.txt\nnext is not recorded/);
});
