/**
 * The file change matrix: which files are tracked, and what undo and redo do to each of them. Rows that do not disturb
 * each other share one session.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
	chmodSync,
	existsSync,
	linkSync,
	lstatSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asNobody, CODE, CONVERSATION, candySandbox, menu, PiRpc, problems, redo, undo } from "./support.mjs";

const timeout = 90_000;
const write = (path, content = "agent") => `TOOL write ${JSON.stringify({ path, content })}`;

/** A file tool of another extension. It takes its file as `path` or, where the plugin cannot know it, as `file`. */
const PATCH_TOOL = `
	pi.registerTool({
		name: "patch", label: "Patch", description: "Patches a file",
		parameters: { type: "object", properties: { path: { type: "string" }, file: { type: "string" } } },
		async execute(_id: string, { path, file }: any) {
			writeFileSync(path ?? file, "patched");
			return { content: [{ type: "text", text: "ok" }], details: {} };
		},
	});`;

test("which files are tracked: what the agent's file tools write, and nothing else", { timeout }, async (t) => {
	const s = await candySandbox(t, {
		candyUndo: { trackedTools: ["write", "edit", "bash", "patch"], exclude: ["private/**"], maxFileSizeMB: 0.01 },
		files: { "edited.txt": "zero", "real.md": "real", "hand.txt": "hand", "folder/in.txt": "in" },
	});
	s.extend("patch-tool", PATCH_TOOL);
	const outside = join(s.root, "outside.txt");
	const stray = join(s.store, "stray.txt");
	symlinkSync("real.md", s.path("link.md"));
	symlinkSync("nowhere.md", s.path("dangling.md"));
	writeFileSync(s.path("big.bin"), "x".repeat(20_000));
	const excluded = [
		".git/config",
		"node_modules/m/i.js",
		"dist/o.js",
		"build/o.js",
		".env.local",
		"sub/.env",
		"yarn.lock",
	];
	excluded.push("coverage/c.json", "private/p.txt");
	const pi = await PiRpc.start(s);

	await pi.prompt(
		[
			write("new/deep/made.txt"),
			"EDIT edited.txt zero one",
			write(outside),
			'TOOL patch {"path":"patched.txt"}',
			'TOOL patch {"file":"pathless.txt"}',
			"BASH echo shell > by-bash.txt; echo shell > real-by-bash.txt",
			...excluded.map((path) => write(path)),
			write(stray),
			write("link.md"),
			write("dangling.md"),
			write("big.bin", "small now"),
			write("folder"),
		].join("\n"),
	);
	s.write("hand.txt", "hand-edited");
	assert.equal(s.read("nowhere.md") + s.read("pathless.txt"), "agentpatched");
	assert.equal(s.read("folder/in.txt"), "in");

	// One notice for the file over the limit, none for the files that the settings exclude.
	const said = problems(pi);
	assert.equal(said.filter((text) => /big\.bin is not recorded \(over the size limit\)/.test(text)).length, 1);
	assert.ok(!said.some((text) => /yarn\.lock|private|\.git/.test(text)), said.join("\n"));

	assert.match(await undo(pi, /^1\./), /6 files restored/);
	assert.equal(s.exists("new/deep/made.txt"), false);
	assert.equal(s.read("edited.txt"), "zero");
	assert.equal(existsSync(outside), false);
	assert.equal(s.exists("patched.txt"), false);
	// Through a link the file it reaches is what was edited; the link itself stays.
	assert.equal(s.read("real.md"), "real");
	assert.equal(s.exists("nowhere.md"), false);
	for (const link of ["link.md", "dangling.md"]) assert.ok(lstatSync(s.path(link)).isSymbolicLink(), link);
	// Never tracked, never touched.
	for (const path of excluded) assert.equal(s.read(path), "agent", path);
	assert.equal(readFileSync(stray, "utf8"), "agent");
	assert.equal(s.read("by-bash.txt"), "shell\n");
	assert.equal(s.read("pathless.txt"), "patched");
	assert.equal(s.read("big.bin"), "small now");
	assert.equal(s.read("hand.txt"), "hand-edited");
	assert.deepEqual(pi.extensionErrors, []);
});

test("what undo does to each tracked file, by its recorded and its present state", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "late.txt": "first", "run.sh": "old", "linked/to.txt": "elsewhere" } });
	chmodSync(s.path("run.sh"), 0o755);
	const pi = await PiRpc.start(s);
	const names = ["differs.txt", "same.txt", "gone/deep/gone.txt", "run.sh", "mode.sh", "soft.txt", "hard.txt"];
	await pi.prompt(names.map((name) => write(name, "v1")).join("\n"));
	await pi.prompt(
		[...names.map((name) => write(name, "v2")), write("made/here.txt"), write("made/lost.txt"), write("late.txt")].join(
			"\n",
		),
	);
	s.write("same.txt", "v1");
	rmSync(s.path("gone"), { recursive: true });
	chmodSync(s.path("run.sh"), 0o600);
	s.write("mode.sh", "v1");
	chmodSync(s.path("mode.sh"), 0o700);
	unlinkSync(s.path("soft.txt"));
	symlinkSync("linked/to.txt", s.path("soft.txt"));
	linkSync(s.path("hard.txt"), s.path("second-name.txt"));
	unlinkSync(s.path("made/lost.txt"));

	const { title, options, row } = await menu(pi, /^1\./);
	assert.match(row, /6 files · .* · 2 links skipped/);
	assert.deepEqual(options.slice(0, 3), ["Restore code and conversation", "Restore conversation", "Restore code"]);
	assert.match(title, /soft\.txt \(left alone: symbolic link\)/);
	assert.match(title, /hard\.txt \(left alone: hard link\)/);
	assert.match(title, /gone\/deep\/gone\.txt \(created again, \+1\)/);
	assert.match(title, /made\/here\.txt \(deleted, -1\)/);
	assert.match(title, /mode\.sh \(mode only\)/);
	assert.doesNotMatch(title, /same\.txt|made\/lost\.txt/);

	const said = await undo(pi, /^1\./, CODE);
	assert.match(said, /6 files restored\./);
	assert.match(said, /2 files left alone: .*symbolic link.*hard link|2 files left alone: .*hard link.*symbolic link/);
	assert.equal(s.read("differs.txt"), "v1");
	assert.equal(s.read("same.txt"), "v1");
	assert.equal(s.read("gone/deep/gone.txt"), "v1");
	assert.equal(s.read("run.sh"), "v1");
	assert.equal(statSync(s.path("run.sh")).mode & 0o777, 0o755);
	assert.equal(statSync(s.path("mode.sh")).mode & 0o111, 0);
	// Absent then: deleted; the folder that becomes empty stays. Absent then and now: nothing happens.
	assert.equal(s.exists("made/here.txt") || s.exists("made/lost.txt"), false);
	assert.ok(s.exists("made"));
	// Not tracked at that moment: as it was before the agent's first edit.
	assert.equal(s.read("late.txt"), "first");
	// Links are neither written nor deleted, and what they reach is not either.
	assert.ok(lstatSync(s.path("soft.txt")).isSymbolicLink());
	assert.equal(s.read("linked/to.txt"), "elsewhere");
	assert.equal(s.read("hard.txt") + s.read("second-name.txt"), "v2v2");

	// Absolute and idempotent: once more finds nothing to do, so the menu is the short one.
	const again = await menu(pi, /^1\./);
	assert.equal(again.options.length, 4);
	assert.match(again.title, /No file would change/);

	// The redo follows the same rules: everything is back as it was just before the undo.
	assert.match(await redo(pi), /6 files put back/);
	assert.equal(s.exists("gone"), true, "folders that the undo made are not cleaned up");
	assert.equal(s.exists("gone/deep/gone.txt"), false);
	assert.equal(s.read("made/here.txt") + s.read("late.txt") + s.read("differs.txt"), "agentagentv2");
	assert.equal(statSync(s.path("run.sh")).mode & 0o777, 0o600);
	assert.equal(s.exists("made/lost.txt"), false);
	assert.deepEqual(pi.extensionErrors, []);
});

test("going back over several turns takes all of them back at once", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "f.txt": "zero" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE f.txt one");
	await pi.prompt("WRITE f.txt two\nWRITE h.txt made");
	await undo(pi, /^2\./);
	assert.equal(s.read("f.txt"), "zero");
	assert.equal(s.exists("h.txt"), false);
	assert.equal((await pi.userMessages()).length, 0);
});

test("hand edits, git and deletions around the agent's edits", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero\n", "mine.txt": "mine", "old.txt": "committed" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one\nWRITE old.txt agent\nWRITE removed.txt there");
	s.write("a.txt", "one, then by hand");
	s.write("mine.txt", "mine, edited");
	await pi.prompt("WRITE a.txt two\nBASH rm removed.txt");
	// As `git checkout` would: the file is at an older version than any the agent left.
	s.write("old.txt", "committed");

	// The snapshot before the second turn holds the hand edit made between the turns.
	const said = await undo(pi, /^1\./, CODE);
	assert.equal(s.read("a.txt"), "one, then by hand");
	assert.equal(s.read("removed.txt"), "there");
	assert.equal(s.read("old.txt"), "agent");
	assert.match(said, /old\.txt/);
	assert.equal(s.read("mine.txt"), "mine, edited");
	// A tracked file that was edited by hand is overwritten too; a file of the agent's is deleted.
	await undo(pi, /^2\./, CODE);
	assert.equal(s.read("a.txt") + s.read("old.txt"), "zero\ncommitted");
	assert.equal(s.exists("removed.txt"), false);
	assert.equal(s.read("mine.txt"), "mine, edited");
	// Or only the conversation is taken back, and every file stays.
	s.write("a.txt", "by hand again");
	await undo(pi, /^2\./, CONVERSATION);
	assert.equal(s.read("a.txt"), "by hand again");
});

test("a snapshot that the cap dropped: an older state stands in, and the menu says so", { timeout }, async (t) => {
	const s = await candySandbox(t, { candyUndo: { maxSnapshotsPerSession: 2 }, files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	for (const text of ["one", "two", "three", "four", "five"]) await pi.prompt(`WRITE a.txt ${text}`);
	const kept = await menu(pi, /^1\./);
	assert.doesNotMatch(kept.title, /no snapshot of this moment/);
	const dropped = await menu(pi, /WRITE a\.txt three/);
	assert.match(dropped.row, /no snapshot of its own/);
	assert.match(dropped.title, /no snapshot of this moment: the nearest older state is used/);
	await undo(pi, /WRITE a\.txt three/);
	assert.equal(s.read("a.txt"), "zero");
	await redo(pi);
	assert.equal(s.read("a.txt"), "five");
});

test("a file that is excluded only later is still restored", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.close();
	s.configure({ exclude: ["a.txt", "b.txt"] });
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await pi.prompt("WRITE a.txt two\nWRITE b.txt never");
	await undo(pi, /WRITE a\.txt one/);
	assert.equal(s.read("a.txt"), "zero");
	assert.equal(s.read("b.txt"), "never");
});

test("redo after each kind of undo moves what that undo moved", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const messages = async () => (await pi.userMessages()).length;

	// Conversation only: the files are nobody's business, not even a hand edit of a tracked one.
	await undo(pi, /^1\./, CONVERSATION);
	s.write("a.txt", "by hand");
	assert.equal(await redo(pi), "The conversation is where it was before the undo.");
	assert.equal(s.read("a.txt"), "by hand");
	assert.equal(await messages(), 1);

	// Code only: the conversation stays where it is.
	await undo(pi, /^1\./, CODE);
	assert.equal(s.read("a.txt"), "zero");
	assert.equal(await redo(pi), "1 file put back.");
	assert.equal(s.read("a.txt"), "by hand");

	// Both, over and over: undo deletes nothing.
	for (let round = 0; round < 2; round++) {
		await undo(pi, /^1\./);
		assert.equal(s.read("a.txt"), "zero");
		assert.equal(await messages(), 0);
		await redo(pi);
		assert.equal(s.read("a.txt"), "by hand");
		assert.equal(await messages(), 1);
	}
	assert.equal(await redo(pi), "There is nothing to redo.");
	assert.deepEqual(
		problems(pi).filter((text) => !/by hand/.test(text)),
		[],
	);
});

test("a file that cannot be written: the others are restored, the undo stops, nothing to redo", {
	timeout,
}, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero", "held/b.txt": "zero", "z.txt": "zero" } });
	if (!asNobody(s)) return t.skip("another user cannot run pi from here");
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one\nWRITE held/b.txt one\nWRITE held/made.txt one\nWRITE z.txt one");
	const lock = (mode) => chmodSync(s.path("held"), mode);
	lock(0o500);
	const failed = await undo(pi, /^1\./);
	assert.match(
		failed,
		/1 file could not be restored, so the undo stopped here:\n {2}held\/made\.txt: cannot remove .+/,
	);
	assert.match(failed, /3 other files were restored/);
	assert.match(
		failed,
		/Close programs that use these files, then run \/undo again; `candy-store restore [0-9a-f]{12}`/,
	);
	assert.equal(pi.notifications.at(-1).type, "error");
	// A file in a folder that takes no new names is still written in place.
	assert.equal(s.read("a.txt") + s.read("held/b.txt") + s.read("z.txt"), "zerozerozero");
	assert.equal(s.read("held/made.txt"), "one");
	assert.equal((await pi.userMessages()).length, 1, "the conversation stays");
	assert.equal(await redo(pi), "There is nothing to redo.");

	// Once the cause is gone, the same undo does the rest.
	lock(0o700);
	assert.match(await undo(pi, /^1\./), /1 file restored/);
	assert.equal(s.exists("held/made.txt"), false);
	assert.equal((await pi.userMessages()).length, 0);

	// A redo that fails keeps its place on the stack and can be repeated.
	lock(0o500);
	assert.match(await redo(pi), /could not be put back, so the redo stopped here and can be repeated/);
	assert.equal((await pi.userMessages()).length, 0);
	lock(0o700);
	assert.match(await redo(pi), /files? put back/);
	// The first, failed undo had already put it back.
	assert.equal(s.read("held/b.txt") + s.read("held/made.txt"), "zeroone");
	assert.equal((await pi.userMessages()).length, 1);
	assert.deepEqual(pi.extensionErrors, []);
});

test("a recorded content that is lost fails its own file only", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "first a", "b.txt": "first b" } });
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.close();
	// Contents are kept in segments; each process writes one of its own.
	const segments = join(s.store, "segments");
	const older = readdirSync(segments);
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await pi.prompt("WRITE b.txt two");
	await pi.close();
	for (const name of older) unlinkSync(join(segments, name));
	pi = await PiRpc.start(s, { args: ["--continue"] });
	const shown = await menu(pi, /WRITE a/);
	assert.match(shown.title, /a\.txt \(left alone: its recorded content is missing\)/);
	assert.match(
		await undo(pi, /WRITE a/),
		/1 file could not be restored[\s\S]*a\.txt: [\s\S]*1 other file was restored/,
	);
	assert.equal(s.read("a.txt") + s.read("b.txt"), "onefirst b");
	assert.equal((await pi.userMessages()).length, 2);
	assert.equal(await redo(pi), "There is nothing to redo.");
});

test("one file under several names is one file, also where pi was started through a link", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero", "real/b.txt": "zero" } });
	const alias = join(s.root, "alias");
	symlinkSync(s.cwd, alias);
	symlinkSync("real", s.path("dir"));
	const { spawn } = s;
	s.spawn = (args, options) => spawn(args, { ...options, cwd: alias, env: { ...s.env, PWD: alias } });
	const pi = await PiRpc.start(s);
	const names = ["a.txt", s.path("a.txt"), "dir/b.txt", "real/b.txt", join(alias, "real/../dir/b.txt")];
	await pi.prompt(names.map((name) => write(name)).join("\n"));
	const { row, title } = await menu(pi, /^1\./);
	assert.match(row, /2 files · \+2 -2$/);
	assert.match(title, / {2}a\.txt \(\+1 -1\)\n {2}real\/b\.txt \(\+1 -1\)\n/);
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt") + s.read("real/b.txt"), "zerozero");
	assert.ok(lstatSync(s.path("dir")).isSymbolicLink());
});

test("a folder, a pipe or a link in a file's place is left alone, and never waited for", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero", "parent/c.txt": "zero" } });
	const pi = await PiRpc.start(s);
	const names = ["a.txt", "folder.txt", "pipe.txt", "parent/c.txt", "gone/d.txt"];
	await pi.prompt(names.map((name) => write(name)).join("\n"));
	for (const name of ["folder.txt", "pipe.txt"]) unlinkSync(s.path(name));
	s.write("folder.txt/inner.txt", "mine");
	execFileSync("mkfifo", [s.path("pipe.txt")]);
	renameSync(s.path("parent"), s.path("moved"));
	symlinkSync("moved", s.path("parent"));
	rmSync(s.path("gone"), { recursive: true });
	s.write("gone", "a file by now");

	const said = await undo(pi, /^1\./);
	assert.match(said, /^1 file restored\./);
	assert.match(said, /3 files left alone: /);
	for (const name of ["folder.txt", "pipe.txt"]) assert.ok(said.includes(`${name} (not a regular file)`), said);
	assert.ok(said.includes("parent/c.txt (symbolic link)"), said);
	assert.equal(s.read("a.txt"), "zero");
	assert.equal(s.read("folder.txt/inner.txt") + s.read("moved/c.txt") + s.read("gone"), "mineagenta file by now");
	assert.ok(lstatSync(s.path("pipe.txt")).isFIFO());

	// The next snapshot names what it could not record, and covers the rest.
	await pi.prompt(write("a.txt", "later"));
	assert.equal(problems(pi).filter((text) => /3 files could not be recorded: /.test(text)).length, 1);
	await undo(pi, /later/);
	assert.equal(s.read("a.txt"), "zero");
});

test("excluded files can be taken in again, and all the built-in excludes switched off", { timeout }, async (t) => {
	const s = await candySandbox(t, { candyUndo: { exclude: ["*.gen", "!build/keep/**"] } });
	const paths = ["x.gen", "build/keep/k.txt", "build/o.js", "yarn.lock"];
	const prompt = paths.map((path) => write(path)).join("\n");
	const left = () => paths.filter((path) => s.exists(path));
	let pi = await PiRpc.start(s);
	await pi.prompt(prompt);
	await undo(pi, /^1\./);
	assert.deepEqual(left(), ["x.gen", "build/o.js", "yarn.lock"]);
	await pi.close();
	for (const path of left()) unlinkSync(s.path(path));
	s.configure({ excludeDefaults: false, exclude: ["*.gen"] });
	pi = await PiRpc.start(s);
	await pi.prompt(prompt);
	await undo(pi, /^1\./);
	assert.deepEqual(left(), ["x.gen"]);
});

test("files that outgrow the limit, have a second name or are protected stay as they are", { timeout }, async (t) => {
	const s = await candySandbox(t, {
		candyUndo: { maxFileSizeMB: 0.01, protectManualEdits: true },
		files: { "grows.txt": "zero", "linked.txt": "zero", "mine.txt": "zero", "a.txt": "zero" },
	});
	linkSync(s.path("linked.txt"), s.path("second-name.txt"));
	const pi = await PiRpc.start(s);
	await pi.prompt(["grows.txt", "linked.txt", "mine.txt", "a.txt"].map((name) => write(name, "one")).join("\n"));
	s.write("mine.txt", "by hand");
	await pi.prompt(write("grows.txt", "x".repeat(20_000)));

	// What is too large now could not be brought back by a redo, so it is not overwritten either.
	const { row, title } = await menu(pi, /^2\./);
	assert.match(row, /1 file · \+1 -1 · 1 link skipped · 2 files not covered/);
	assert.match(title, /grows\.txt \(left alone: over the size limit\)/);
	assert.match(title, /linked\.txt \(left alone: hard link\)/);
	assert.match(title, /mine\.txt \(left alone: changed by hand\)/);
	assert.match(await undo(pi, /^2\./, CODE), /^1 file restored\.\n3 files left alone: /);
	assert.equal(s.read("a.txt") + s.read("linked.txt") + s.read("second-name.txt"), "zerooneone");
	assert.equal(s.read("mine.txt"), "by hand");
	assert.equal(s.read("grows.txt").length, 20_000);

	// And what was too large at a moment is never restored to an older version in its stead.
	await pi.prompt(write("grows.txt", "small again"));
	assert.equal(
		problems(pi).filter((text) => /could not be recorded: .*grows\.txt \(over the size/.test(text)).length,
		1,
	);
	assert.match((await menu(pi, /small again/)).title, /grows\.txt \(left alone: was over the size limit at that moment\)/);
	await undo(pi, /xxxx/, CODE);
	assert.equal(s.read("grows.txt"), "one");
});

test("contents come back to the byte, whatever they are", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const contents = {
		"all-bytes.bin": Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
		"not-utf8.txt": Buffer.from([0x66, 0xff, 0xfe, 0x0a]),
		"crlf.txt": Buffer.from("a\r\nb\r\n"),
		"bom.txt": Buffer.from("\uFEFFtext without an end of line"),
		"empty.txt": Buffer.alloc(0),
		"large.bin": randomBytes(3 << 20),
	};
	for (const [name, bytes] of Object.entries(contents)) writeFileSync(s.path(name), bytes);
	const pi = await PiRpc.start(s);
	await pi.prompt(
		Object.keys(contents)
			.map((name) => write(name, ""))
			.join("\n"),
	);
	await pi.prompt(write("large.bin", "again"));
	assert.match(await undo(pi, /^2\./), /^5 files restored\./);
	for (const [name, bytes] of Object.entries(contents)) assert.ok(readFileSync(s.path(name)).equals(bytes), name);
	await redo(pi);
	assert.equal(s.read("large.bin"), "again");
	assert.equal(s.read("all-bytes.bin"), "");
});
