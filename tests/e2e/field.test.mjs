/** What users of such tools lost (field cases), where only the real pi shows whether it can happen here. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { asNobody, candySandbox, contents, PiRpc, problems, redo, rows, testOnEachPi, undo } from "./support.mjs";

const timeout = 90_000;

testOnEachPi("A11: pi's own /tree and /fork touch no file", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero" } });
	s.extend(
		"tree",
		'pi.registerCommand("go", { handler: (id: string, ctx: any) => ctx.navigateTree(id, { summarize: false }) });',
	);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one\nWRITE made.txt x");
	await pi.prompt("WRITE a.txt two");
	s.write("a.txt", "two, then by hand");
	const before = contents(s.cwd);
	const [first, second] = await pi.userMessages();
	await pi.command(`/go ${first.id}`);
	assert.equal((await pi.userMessages()).length, 0, "pi did move");
	assert.deepEqual(contents(s.cwd), before);
	await pi.command(`/go ${(await pi.entries()).entries.at(-1).id}`);
	await pi.fork(second.id);
	assert.equal((await pi.userMessages()).length, 1);
	assert.deepEqual(contents(s.cwd), before);
	assert.deepEqual(pi.extensionErrors, []);
});

test("A30, A31: undo and redo start no git and leave its files as they are", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.c": "one\ntwo\nthree\n", "b.c": "b\n" } });
	const git = (...args) =>
		execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: s.cwd, stdio: "pipe" });
	try {
		git("init", "-q");
	} catch {
		return t.skip("git is not installed");
	}
	git("add", "-A");
	git("commit", "-qm", "first");
	// Half of what changed is staged.
	s.write("a.c", "one, staged\ntwo\nthree\n");
	git("add", "a.c");
	s.write("a.c", "one, staged\ntwo\nthree, not staged\n");

	// A git that tells when it is called stands before the real one.
	const [bin, calls] = [join(s.root, "bin"), join(s.root, "git-calls")];
	mkdirSync(bin);
	writeFileSync(join(bin, "git"), `#!/bin/sh\necho "$@" >> '${calls}'\nexit 1\n`);
	chmodSync(join(bin, "git"), 0o755);
	s.env.PATH = `${bin}${delimiter}${s.env.PATH}`;
	const pi = await PiRpc.start(s);
	await pi.prompt("BASH git status");
	const count = () => (existsSync(calls) ? readFileSync(calls, "utf8").split("\n").length : 0);
	assert.ok(count() > 0, "the stand-in is not called");
	await pi.prompt("WRITE a.c agent\nWRITE new.c agent");
	const before = { calls: count(), files: contents(s.path(".git")), times: times(s.path(".git")) };
	await undo(pi, /WRITE a\.c/);
	assert.equal(s.read("a.c"), "one, staged\ntwo\nthree, not staged\n");
	await redo(pi);
	assert.equal(s.read("a.c"), "agent");
	assert.deepEqual({ calls: count(), files: contents(s.path(".git")), times: times(s.path(".git")) }, before);
});

/** When each file below a folder was changed last. */
function times(folder) {
	return readdirSync(folder, { recursive: true })
		.map(String)
		.sort()
		.map((name) => [name, statSync(join(folder, name)).ctimeMs]);
}

test("F01: secrets that the default settings exclude leave no byte in the store", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	const token = createHash("sha256").update("a secret").digest("hex");
	const write = (path) => `TOOL write ${JSON.stringify({ path, content: `TOKEN=${token}` })}`;
	const holds = () =>
		readdirSync(s.store, { recursive: true })
			.map((name) => join(s.store, String(name)))
			.filter((path) => statSync(path).isFile())
			.some((path) => readFileSync(path).includes(token));
	// The prompt itself is kept, as far as the picker needs it: so the secret stands far behind its beginning.
	const prompt = (path) => `SAY ${"x".repeat(600)}\n${write(path)}`.split("\n").reverse().join("\n");
	for (const path of [".env", ".env.local", "sub/.env"]) await pi.prompt(`${"#".repeat(600)}\n${prompt(path)}`);
	await pi.prompt("SAY done");
	assert.equal(s.read("sub/.env"), `TOKEN=${token}`);
	assert.equal(holds(), false);
	// The same bytes in a file that is kept are found, so they would have been.
	await pi.prompt(`${"#".repeat(600)}\n${prompt("notes.txt")}`);
	await pi.prompt("SAY done");
	assert.equal(holds(), true);
});

test("F05: after a run of root's, another user is told which folder is not theirs, and can work", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	if (process.getuid?.() !== 0) return t.skip("only root can leave root's files behind");
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt root");
	await pi.close();
	if (!asNobody(s)) return t.skip("another user cannot run pi from here");
	execFileSync("chown", ["-R", "0:0", s.store]);
	const before = contents(s.store);
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await pi.prompt("WRITE a.txt user");
	assert.equal(s.read("a.txt"), "user");
	assert.equal(problems(pi).length, 1, problems(pi).join("\n"));
	assert.match(problems(pi)[0], /candy-store belongs to another user or is open to others\. Use a folder of your own/);
	await pi.close();
	assert.deepEqual(contents(s.store), before);
	// Given to the user, it goes on.
	execFileSync("chown", ["-R", "65534:65534", s.store]);
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await pi.prompt("WRITE a.txt again");
	assert.equal((await rows(pi)).length, 3);
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt"), "user");
});
