/** Bad surroundings: one clear notice with the reason and the next step, the agent goes on, nothing is overwritten. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rewriteFormat } from "./format-line.mjs";
import { asNobody, BOTH, candySandbox, contents, PiRpc, problems, rows, testOnEachPi, undo } from "./support.mjs";

const timeout = 90_000;

/** Runs a prompt with a tool and both commands; the one notice must match. */
async function staysOff(s, pi, pattern) {
	await pi.prompt("WRITE a.txt one\nWRITE a.txt two");
	assert.equal(s.read("a.txt"), "two");
	assert.equal(problems(pi).length, 1, problems(pi).join("\n"));
	assert.match(problems(pi)[0], pattern);
	const said = await pi.command("/undo");
	assert.match(said[0].message, pattern);
	assert.deepEqual(pi.extensionErrors, []);
}

test("a store inside the workspace is refused, whatever way it is spelled", { timeout }, async (t) => {
	const s = await candySandbox(t);
	symlinkSync(s.cwd, join(s.root, "alias"));
	for (const storageDir of [s.cwd, join(s.cwd, ".candy"), join(s.root, "alias", "deep", "er")]) {
		s.configure({ storageDir });
		const pi = await PiRpc.start(s);
		await staysOff(s, pi, /inside the workspace\. Set candyUndo\.storageDir to a folder outside of it/);
		await pi.close();
		assert.deepEqual(readdirSync(s.cwd), ["a.txt"]);
	}
});

test("a storage folder of one's own holds the store, and its age is refreshed", { timeout }, async (t) => {
	const s = await candySandbox(t, { candyUndo: { storageDir: "~/history" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await undo(pi, /WRITE a/);
	assert.equal(s.exists("a.txt"), false);
	const store = join(s.home, "history", "store");
	assert.ok(Date.now() - statSync(store).mtimeMs < 60_000);
	assert.equal(statSync(store).mode & 0o077, 0);
	assert.equal(existsSync(s.store), false);
});

test("something else where the store should be is left as it is", { timeout }, async (t) => {
	const s = await candySandbox(t);
	mkdirSync(s.store);
	writeFileSync(join(s.store, "letter.txt"), "not a store");
	const before = contents(s.store);
	const pi = await PiRpc.start(s);
	await staysOff(s, pi, / is off: .*not a history store/);
	await pi.close();
	assert.deepEqual(contents(s.store), before);
});

test("a store from a newer version is left as it is", { timeout }, async (t) => {
	for (const [changes, pattern] of [
		[{ format: 99 }, /written by a newer version\. Update this plugin/],
		[{ needs: "time-travel" }, /written by a newer version\. Update this plugin/],
		[{ protocol: 99 }, /can be read but not written: .*protocol 99/],
	]) {
		const s = await candySandbox(t);
		let pi = await PiRpc.start(s);
		await pi.prompt("WRITE a.txt zero");
		await pi.close();
		rewriteFormat(s.store, changes);
		const before = contents(s.store);
		pi = await PiRpc.start(s, { args: ["--continue"] });
		await staysOff(s, pi, pattern);
		await pi.close();
		assert.deepEqual(contents(s.store), before);
	}
});

test("a store that cannot be written is said once; when it can be again, recording goes on", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const parent = join(s.home, "locked");
	mkdirSync(parent);
	s.configure({ storageDir: parent });
	if (!asNobody(s)) return t.skip("another user cannot run pi from here");
	chmodSync(parent, 0o500);
	const pi = await PiRpc.start(s);
	await staysOff(s, pi, /no permission for .*locked.*Check its owner and mode/);
	chmodSync(parent, 0o700);
	await pi.prompt("WRITE a.txt three");
	assert.match(pi.notifications.at(-1).message, /works again/);
	const shown = await rows(pi);
	assert.doesNotMatch(shown[0], /no snapshot/);
	assert.match(shown[1], /no snapshot of its own/);
	await undo(pi, /three/);
	assert.equal(s.read("a.txt"), "two");
});

test("a store that becomes unwritable in the middle: the tool runs, the row says so", { timeout }, async (t) => {
	const s = await candySandbox(t);
	if (!asNobody(s)) return t.skip("another user cannot run pi from here");
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.close();
	const frozen = contents(s.store);
	execFileSync("chmod", ["-R", "a-w", s.store]);
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await staysOff(s, pi, /history store .* can be read but not written|no permission/);
	await pi.close();
	assert.deepEqual(contents(s.store), frozen);
	execFileSync("chmod", ["-R", "u+w", s.store]);
	pi = await PiRpc.start(s, { args: ["--continue"] });
	assert.match((await rows(pi))[0], /no snapshot of its own/);
	await undo(pi, /^2\./);
	assert.equal(s.exists("a.txt"), false);
});

test("a damaged index is reported with the command that repairs it, and nothing is overwritten", {
	timeout,
}, async (t) => {
	const s = await candySandbox(t);
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.close();
	const index = readdirSync(s.store, { recursive: true })
		.map(String)
		.find((name) => /index/.test(name) && statSync(join(s.store, name)).isFile());
	assert.ok(index, "the store has an index file");
	writeFileSync(join(s.store, index), Buffer.alloc(statSync(join(s.store, index)).size, 0x5a));
	const before = contents(s.store);
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await staysOff(s, pi, /fsck --rebuild-index/);
	await pi.close();
	assert.deepEqual(contents(s.store), before);
});

test("another extension's /undo is named, and ours is still to be had under the name that pi gives it", {
	timeout,
}, async (t) => {
	const s = await candySandbox(t);
	s.extend("other-undo", 'pi.registerCommand("undo", { handler: async () => {} });');
	const pi = await PiRpc.start(s);
	assert.equal(problems(pi).length, 1);
	assert.match(problems(pi)[0], /\/undo is also a command of .*other-undo\.ts.*Remove that extension/);
	const named = (await pi.commands()).map(({ name }) => name).filter((name) => /^(un|re)do/.test(name));
	assert.deepEqual(named, ["undo:1", "redo", "undo:2"]);
	await pi.prompt("WRITE a.txt one");
	await pi.command("/undo:1", [{ select: /WRITE a/ }, BOTH]);
	assert.equal(s.exists("a.txt"), false);
});

test("switched off: nothing is opened, and the commands say why", { timeout }, async (t) => {
	const s = await candySandbox(t, { candyUndo: { enabled: false } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	assert.deepEqual(problems(pi), []);
	assert.match((await pi.command("/undo"))[0].message, /switched off in the settings/);
	assert.match((await pi.command("/redo"))[0].message, /switched off in the settings/);
	assert.equal(existsSync(s.store), false);
});

test("settings that cannot be used are named, and the defaults hold", { timeout }, async (t) => {
	const s = await candySandbox(t, { candyUndo: { pickerLimit: "many", maxFileSizeMB: 0.001 } });
	const pi = await PiRpc.start(s);
	assert.match(problems(pi)[0], /pickerLimit = "many" \(using 100\)/);
	s.write("big.txt", "x".repeat(5000));
	await pi.prompt("EDIT big.txt xxx yyy\nWRITE small.txt one");
	assert.match(problems(pi).at(-1), /big\.txt is not recorded \(over the size limit\)/);
	assert.match((await rows(pi))[0], /1 file .*not covered: file over the size limit/);
	await pi.prompt("SAY later");
	await undo(pi, /^2\./);
	assert.equal(s.exists("small.txt"), false);
	assert.equal(s.read("big.txt").length, 5000);
});

testOnEachPi(
	"a project's settings hold when the project is trusted, field by field",
	{ timeout },
	async (t, version) => {
		for (const trust of [false, true]) {
			const s = await candySandbox(t, {
				pi: version,
				trust,
				candyUndo: { pickerLimit: 2, exclude: ["global.txt"], log: true },
				projectSettings: { candyUndo: { pickerLimit: 1, exclude: ["project.txt"] } },
			});
			const pi = await PiRpc.start(s);
			await pi.prompt("WRITE global.txt 1\nWRITE project.txt 1");
			// Lists are replaced, not joined.
			await undo(pi, /^1\./);
			assert.deepEqual([s.exists("global.txt"), s.exists("project.txt")], [!trust, trust]);
			for (const text of ["one", "two", "three"]) await pi.prompt(`SAY ${text}`);
			// The title is English in both cases: the project says nothing about the language.
			assert.equal((await rows(pi)).length, trust ? 1 : 2);
			await pi.close();
			assert.match(readFileSync(join(s.home, ".pi", "undo.log"), "utf8"), /"event":"session opened"/);
		}
	},
);

testOnEachPi(
	"null in a project's settings means not set there: the user's own value holds",
	{ timeout },
	async (t, version) => {
		const projectSettings = { candyUndo: { language: null, pickerLimit: null } };
		const s = await candySandbox(t, { pi: version, trust: true, candyUndo: { pickerLimit: 1 }, projectSettings });
		const pi = await PiRpc.start(s);
		for (const text of ["one", "two"]) await pi.prompt(`SAY ${text}`);
		assert.deepEqual(await rows(pi), ["1. SAY two · no file changes"]);
		assert.deepEqual(problems(pi), []);
	},
);
