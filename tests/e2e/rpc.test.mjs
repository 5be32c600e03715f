/** The plugin inside the real pi, driven over RPC: what undo and redo do to files and conversation. */
import assert from "node:assert/strict";
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
import {
	CODE,
	CONVERSATION,
	candySandbox,
	NEVER_MIND,
	PiRpc,
	problems,
	redo,
	rows,
	testOnEachPi,
	undo,
	until,
} from "./support.mjs";

const timeout = 90_000;

testOnEachPi("edit, undo, redo: files and conversation go back and forth", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "kept.txt": "mine", "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("EDIT a.txt zero one");
	await pi.prompt("EDIT a.txt one two\nWRITE b/c.txt nested");
	const full = (await pi.entries()).leafId;

	assert.deepEqual(await rows(pi), [
		"1. EDIT a.txt one two WRITE b/c.txt nested · 2 files · +1 -2",
		"2. EDIT a.txt zero one · 2 files · +1 -2",
	]);
	for (let round = 0; round < 2; round++) {
		assert.match(await undo(pi, /^1\./), /2 files restored\.[\s\S]*back to before “EDIT a\.txt one two/);
		assert.equal(s.read("a.txt"), "one");
		assert.equal(s.exists("b/c.txt"), false);
		assert.equal(s.read("kept.txt"), "mine");
		assert.equal(pi.editorText, "EDIT a.txt one two\nWRITE b/c.txt nested");
		assert.equal((await pi.userMessages()).length, 1);

		assert.match(await redo(pi), /2 files put back/);
		assert.equal(s.read("a.txt"), "two");
		assert.equal(s.read("b/c.txt"), "nested");
		assert.ok((await pi.branch()).some((entry) => entry.id === full));
	}
	assert.equal(await redo(pi), "There is nothing to redo.");

	// Two undos in a row are taken back one by one.
	await undo(pi, /^1\./);
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt"), "zero");
	assert.equal((await pi.userMessages()).length, 0);
	await redo(pi);
	assert.equal(s.read("a.txt"), "one");
	await redo(pi);
	assert.equal(s.read("a.txt"), "two");
	assert.ok((await pi.branch()).some((entry) => entry.id === full));

	assert.deepEqual(problems(pi), []);
	assert.deepEqual(pi.extensionErrors, []);
	assert.equal((await pi.close()).code, 0);
	assert.equal(pi.stderr, "");
});

testOnEachPi("each menu entry does what it says", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version });
	const pi = await PiRpc.start(s);
	await pi.prompt("SAY only talk");
	await pi.prompt("WRITE a.txt one");

	await undo(pi, /WRITE a/, NEVER_MIND);
	assert.equal(s.read("a.txt"), "one");
	await pi.command("/undo", [{ select: /WRITE a/ }, { cancel: true }]);
	await pi.command("/undo", [{ cancel: true }]);
	assert.equal((await pi.userMessages()).length, 2);

	await undo(pi, /WRITE a/, CODE);
	assert.equal(s.exists("a.txt"), false);
	assert.equal((await pi.userMessages()).length, 2);
	await redo(pi);
	assert.equal(s.read("a.txt"), "one");

	await undo(pi, /WRITE a/, CONVERSATION);
	assert.equal(s.read("a.txt"), "one");
	assert.equal((await pi.userMessages()).length, 1);
	await redo(pi);

	// A message after which no file changed has the short menu.
	await pi.prompt("SAY more talk");
	let options = [];
	await pi.command("/undo", [
		{ select: /more talk/ },
		{
			hold: (request, reply) => {
				options = request.options;
				reply({ cancelled: true });
			},
		},
	]);
	assert.deepEqual(options, ["Restore conversation", "Summarize", "Summarize with custom prompt", "Never mind"]);

	assert.match(await undo(pi, /more talk/, { select: /^Summarize$/ }), /with a summary of what followed/);
	const branch = await pi.branch();
	assert.ok(branch.some((entry) => entry.type === "branch_summary"));
	await redo(pi);
	assert.equal((await pi.userMessages()).length, 3);
	const said = await pi.command("/undo", [
		{ select: /more talk/ },
		{ select: "Summarize with custom prompt" },
		{ input: "keep the plan" },
	]);
	assert.match(said.at(-1).message, /with a summary/);
	assert.match(
		s.model.requests
			.at(-1)
			.messages.map((message) => JSON.stringify(message.content))
			.join(),
		/keep the plan/,
	);
	assert.deepEqual(pi.extensionErrors, []);
});

test("created, deleted and outside files; Chinese, emoji and odd names; modes", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "run.sh": "#!/bin/sh\n" } });
	chmodSync(s.path("run.sh"), 0o750);
	const outside = join(s.root, "outside", "notes.md");
	mkdirSync(join(s.root, "outside"));
	writeFileSync(outside, "outside");
	const names = [
		"公共函数.cpp",
		"naïve café.md",
		"emoji 🍬.txt",
		"..dotty",
		"-rf",
		"[a]{b}*?.c",
		"__proto__",
		"trailing ",
	];
	for (const name of names) s.write(name, `old ${name}`);
	const pi = await PiRpc.start(s);

	const lines = names.map((name) => `TOOL write ${JSON.stringify({ path: name, content: "new" })}`);
	await pi.prompt(
		[...lines, `WRITE ${outside} changed`, "WRITE made/by/agent.txt x", 'EDIT run.sh "#!/bin/sh" "#!/bin/bash"'].join(
			"\n",
		),
	);
	await pi.prompt("BASH rm made/by/agent.txt emoji*");
	assert.equal(s.exists("emoji 🍬.txt"), false);

	// Files that the agent deletes through bash come back when they were tracked before.
	await undo(pi, /BASH rm/, CODE);
	assert.equal(s.read("made/by/agent.txt"), "x");
	assert.equal(s.read("emoji 🍬.txt"), "new");

	assert.match(await undo(pi, /^2\./), /11 files restored/);
	for (const name of names) assert.equal(s.read(name), `old ${name}`, name);
	assert.equal(readFileSync(outside, "utf8"), "outside");
	assert.equal(s.exists("made/by/agent.txt"), false);
	assert.equal(s.read("run.sh"), "#!/bin/sh\n");
	assert.equal(statSync(s.path("run.sh")).mode & 0o777, 0o750);
	await redo(pi);
	assert.equal(s.read("公共函数.cpp"), "new");
	assert.equal(readFileSync(outside, "utf8"), "changed");
	assert.deepEqual(pi.extensionErrors, []);
});

testOnEachPi("a tool's path means the same file to the plugin as to pi", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a b.md": "spaced", "real.md": "real" } });
	symlinkSync("real.md", s.path("link.md"));
	writeFileSync(join(s.home, "h.txt"), "home");
	const pi = await PiRpc.start(s);
	const write = (path) => `TOOL write ${JSON.stringify({ path, content: "new" })}`;
	const paths = ["a\u00a0b.md", "@~/h.txt", `file://${s.cwd}/url.txt`, "./x/../dots.txt", "link.md", "sub\\back.txt"];
	await pi.prompt(paths.map(write).join("\n"));
	assert.equal(readFileSync(join(s.home, "h.txt"), "utf8"), "new");
	assert.equal(s.read("real.md"), "new");

	await undo(pi, /^1\./);
	assert.equal(s.read("a b.md"), "spaced");
	assert.equal(readFileSync(join(s.home, "h.txt"), "utf8"), "home");
	assert.equal(s.read("real.md"), "real");
	assert.equal(s.read("link.md"), "real");
	for (const name of ["url.txt", "dots.txt", "sub\\back.txt"]) assert.equal(s.exists(name), false, name);
});

testOnEachPi("parallel calls of one message are undone together", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "a", "b.txt": "b" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("PAR WRITE a.txt 1 || WRITE b.txt 2 || WRITE c.txt 3 || EDIT a.txt missing x || WRITE d.txt 4");
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt") + s.read("b.txt"), "ab");
	assert.equal(s.exists("c.txt") || s.exists("d.txt"), false);
});

testOnEachPi(
	"a steered message is a row of its own, with the state in which it arrived",
	{ timeout },
	async (t, version) => {
		const s = await candySandbox(t, { pi: version });
		const pi = await PiRpc.start(s);
		const done = pi.waitFor((record) => record.type === "agent_settled");
		await pi.prompt("WRITE a.txt one\nSLEEP 600\nWRITE a.txt two", { wait: false });
		await until(() => s.exists("a.txt"), "the first write");
		await pi.prompt("WRITE b.txt steered", { wait: false, streamingBehavior: "steer" });
		await done;
		const shown = await rows(pi);
		assert.equal(shown.length, 2);
		assert.ok(
			shown.every((row) => !row.includes("no snapshot")),
			shown.join("\n"),
		);
		const beforeSteering = s.read("a.txt");
		await undo(pi, /steered/);
		assert.equal(s.exists("b.txt"), false);
		assert.equal(s.read("a.txt"), beforeSteering);
		await undo(pi, /^1\./);
		assert.equal(s.exists("a.txt"), false);
	},
);

test("files written from a script of the model's are undone as well", { timeout }, async (t) => {
	const s = await candySandbox(t, { args: ["--tools", "+codemode"], files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	const code =
		"await tools.write({path:'a.txt',content:'one'}); await tools.write({path:'n.txt',content:'x'}); return 1;";
	await pi.prompt(`TOOL codemode ${JSON.stringify({ code })}`);
	assert.equal(s.read("a.txt") + s.read("n.txt"), "onex");
	assert.doesNotMatch((await rows(pi))[0], /not covered/);
	await undo(pi, /codemode/);
	assert.equal(s.read("a.txt"), "zero");
	assert.equal(s.exists("n.txt"), false);
});

testOnEachPi("a failed edit and a run that was aborted leave hand edits alone", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "mine.txt": "mine" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("EDIT mine.txt not-in-there x");
	s.write("mine.txt", "edited by hand");
	assert.match((await rows(pi))[0], /no file changes/);

	await pi.prompt("WRITE a.txt one\nHANG", { wait: false });
	await pi.waitFor(
		(record) => record.type === "message_update" && record.assistantMessageEvent.delta?.includes("hanging"),
	);
	const settled = pi.waitFor((record) => record.type === "agent_settled");
	await pi.abort();
	await settled;
	await undo(pi, /WRITE a/);
	assert.equal(s.exists("a.txt"), false);
	assert.equal(s.read("mine.txt"), "edited by hand");
});

test("what bash and the user's own commands did is named, not undone", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("BASH echo x > made-by-bash.txt\nWRITE yarn.lock x");
	await pi.bash("true");
	const [row] = await rows(pi);
	assert.match(row, /not covered: bash, excluded file, your own ! command/);
	let title = "";
	await pi.command("/undo", [
		{ select: 0 },
		{
			hold: (request, reply) => {
				title = request.title;
				reply({ cancelled: true });
			},
		},
	]);
	assert.match(title, /Not covered since then: bash/);
	assert.match(title, /manually or via bash/);
	assert.equal(s.read("made-by-bash.txt"), "x\n");
});

test("hand edits of a tracked file are named before, and come back with redo", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero\n" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	s.write("a.txt", "one\nmine\n");
	let title = "";
	const said = await pi.command("/undo", [
		{ select: /^1\./ },
		{
			hold: (request, reply) => {
				title = request.title;
				reply({ value: "Restore code and conversation" });
			},
		},
	]);
	assert.match(title, /a\.txt .*changed by hand since the agent's last edit/);
	assert.match(said.at(-1).message, /1 file had changes made by hand; \/redo brings them back: a\.txt/);
	assert.equal(s.read("a.txt"), "zero\n");
	await redo(pi);
	assert.equal(s.read("a.txt"), "one\nmine\n");
});

test("a prompt that merely begins with a slash is a prompt: it clears redo and has a snapshot", {
	timeout,
}, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await undo(pi, /WRITE a/);
	await pi.prompt("/etc/hosts is wrong\nWRITE a.txt two");
	assert.equal(await redo(pi), "There is nothing to redo.");
	await undo(pi, /etc\/hosts/);
	assert.equal(s.exists("a.txt"), false);
});

test("a run that starts while a dialog is open keeps everything as it is", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	let running;
	const said = await pi.command("/undo", [
		{ select: /WRITE a/ },
		{
			hold: async (_request, reply) => {
				running = pi.waitFor((record) => record.type === "agent_settled");
				await pi.prompt("SLEEP 700\nWRITE b.txt late", { wait: false });
				reply({ value: "Restore code and conversation" });
			},
		},
	]);
	assert.match(said.at(-1).message, /started to work meanwhile/);
	await running;
	assert.equal(s.read("a.txt") + s.read("b.txt"), "onelate");
	assert.equal((await pi.userMessages()).length, 2);
	assert.deepEqual(pi.extensionErrors, []);
});

test("a second command while a dialog is open does nothing", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.command("/undo", [
		{
			hold: async (_request, reply) => {
				await pi.prompt("/redo");
				await pi.prompt("/undo");
				reply({ cancelled: true });
			},
		},
	]);
	assert.deepEqual(problems(pi), Array(2).fill("Another /undo or /redo is still open; this one did nothing."));
	assert.equal(s.read("a.txt"), "one");
	await undo(pi, /WRITE a/);
	assert.equal(s.exists("a.txt"), false);
});

test("undo waits for the run that is on", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one\nSLEEP 700\nWRITE a.txt two", { wait: false });
	await until(() => s.read("a.txt") === "one", "the first write");
	await undo(pi, /WRITE a/);
	assert.equal(s.read("a.txt"), "zero");
});

test("compaction does not take the older rows away", { timeout }, async (t) => {
	const s = await candySandbox(t, { settings: { compaction: { keepRecentTokens: 30 } } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.prompt("WRITE a.txt two");
	await pi.compact();
	await pi.prompt("WRITE a.txt three");
	assert.equal((await rows(pi)).length, 3);
	await undo(pi, /^3\./);
	assert.equal(s.exists("a.txt"), false);
});

testOnEachPi(
	"print and JSON mode write nothing and say why the command does nothing",
	{ timeout },
	async (t, version) => {
		const s = await candySandbox(t, { pi: version });
		let pi = await PiRpc.start(s);
		await pi.prompt("WRITE a.txt one");
		await pi.close();
		const listing = () =>
			readdirSync(s.store, { recursive: true })
				.sort()
				.map((name) => {
					const { size, mtimeMs } = statSync(join(s.store, String(name)));
					return [name, size, mtimeMs];
				});
		const before = listing();
		const printed = await s.run(["-p", "--continue", "/undo"]);
		assert.match(printed.stderr, /candy-undo is off: \/undo and \/redo need the terminal or RPC mode/);
		assert.equal((await s.run(["-p", "--continue", "WRITE b.txt printed"])).code, 0);
		assert.equal((await s.run(["--mode", "json", "--continue", "WRITE c.txt json"])).code, 0);
		assert.deepEqual(listing(), before);
		pi = await PiRpc.start(s, { args: ["--continue"] });
		assert.equal((await rows(pi)).length, 3);
		await undo(pi, /WRITE a/);
		assert.equal(s.exists("a.txt"), false);

		const fresh = await candySandbox(t, { pi: version });
		assert.equal((await fresh.run(["-p", "WRITE a.txt one"])).code, 0);
		assert.equal(existsSync(fresh.store), false);
	},
);

test("the default language is Chinese", { timeout }, async (t) => {
	const s = await candySandbox(t, { candyUndo: { language: undefined } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const said = await pi.command("/undo", [
		{ select: /1 个文件 · \+0 -1/, title: "回退到" },
		{ select: "恢复代码和对话" },
	]);
	assert.match(said[0].message, /已恢复 1 个文件。\n对话已回到「WRITE a\.txt one」之前。/);
	const undoCommand = (await pi.commands()).find((command) => command.name === "undo");
	assert.match(undoCommand.description, /回到某条消息之前/);
});
