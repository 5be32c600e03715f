/** Every way through `/undo` and `/redo`, and every kind of prompt and tool call that they must understand. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readSession } from "./harness/pi-sandbox.mjs";
import {
	addon,
	BOTH,
	CODE,
	CONVERSATION,
	candySandbox,
	contents,
	menu,
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
const NOTHING_TO_REDO = "There is nothing to redo.";
/** How the note begins that tells the model of files which went back. */
const NOTE = "These files do not hold what you last saw";
/** A PNG image of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SUMMARIZE = { select: /^Summarize$/ };
const CUSTOM = { select: "Summarize with custom prompt" };

test("a session without messages has nothing to undo or to redo", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	assert.deepEqual(await pi.command("/undo"), [{ message: "There is no message to go back to.", type: "info" }]);
	assert.deepEqual(await pi.command("/redo"), [{ message: NOTHING_TO_REDO, type: "info" }]);
});

test("the menu: what it shows, and every way to leave it without any change", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.prompt("SAY only talk");
	const short = await menu(pi, /only talk/);
	assert.deepEqual(short.options, ["Restore conversation", "Summarize", "Summarize with custom prompt", "Never mind"]);
	const full = await menu(pi, /WRITE a/);
	assert.deepEqual(full.options, [
		"Restore code and conversation",
		"Restore conversation",
		"Restore code",
		...short.options.slice(1),
	]);
	assert.match(full.title, /^Rewind to before this message\?\n\n│ “WRITE a\.txt one”\n│ \(just now\)\n\n/);
	assert.match(full.title, /\n\n\u{1F4A1} Rewinding does not affect files edited manually or via bash$/u);

	const state = async () => [(await pi.entries()).leafId, s.read("a.txt"), contents(s.store)];
	const before = await state();
	await pi.command("/undo", [{ cancel: true }]);
	await pi.command("/undo", [{ select: /WRITE a/ }, { cancel: true }]);
	await undo(pi, /WRITE a/, NEVER_MIND);
	for (const answer of [{ cancel: true }, { input: "  " }]) {
		const said = await pi.command("/undo", [{ select: /WRITE a/ }, CUSTOM, answer]);
		assert.equal(said.at(-1).message, "Cancelled; nothing was changed.");
	}
	assert.deepEqual(await state(), before);
	assert.equal(await redo(pi), NOTHING_TO_REDO);
	assert.deepEqual(problems(pi), []);
});

test("summaries leave the files alone, reach the model, and can be redone", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("SAY first");
	await pi.prompt("WRITE a.txt one");
	const texts = async () => (await pi.userMessages()).map(({ text }) => text);
	for (const ask of [[SUMMARIZE], [CUSTOM, { input: "keep the plan" }]]) {
		const said = await pi.command("/undo", [{ select: /WRITE a/ }, ...ask]);
		assert.match(said.at(-1).message, /back to before “WRITE a\.txt one”, with a summary of what followed\./);
		assert.equal(JSON.stringify(s.model.requests.at(-1).messages).includes("keep the plan"), ask.length > 1);
		assert.equal(s.read("a.txt"), "one");
		assert.deepEqual(await texts(), ["SAY first"]);
		assert.equal(pi.editorText, "WRITE a.txt one");
		assert.deepEqual([...pi.status.values()].filter(Boolean), [], "no status is left in the footer");
		assert.equal(await redo(pi), "The conversation is where it was before the undo.");
		assert.deepEqual(await texts(), ["SAY first", "WRITE a.txt one"]);
		assert.equal(
			(await pi.branch()).some((entry) => entry.type === "branch_summary"),
			false,
		);
	}
	await undo(pi, /WRITE a/, SUMMARIZE);
	await pi.prompt("SAY go on");
	assert.match(JSON.stringify(s.model.requests.at(-1).messages), /FAKE-SUMMARY/);
});

test("another extension keeps pi from moving: the files are restored, redo holds just them", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	s.extend("no-moves", 'pi.on("session_before_tree", () => ({ cancel: true }));');
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const said = await undo(pi, /^1\./);
	assert.match(
		said,
		/1 file restored\.\nMoving in the conversation was cancelled\.\nThe files were restored; \/redo takes that back\./,
	);
	assert.equal(s.read("a.txt"), "zero");
	assert.equal((await pi.userMessages()).length, 1);
	assert.equal(await redo(pi), "1 file put back.");
	assert.equal(s.read("a.txt"), "one");
});

test("a redo whose entry or snapshot is gone is dropped, and says so", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	let pi = await PiRpc.start(s);
	await pi.prompt("SAY first");
	await pi.prompt("WRITE a.txt one");
	const { sessionFile } = await pi.state();
	const { leafId } = await pi.entries();
	await undo(pi, /WRITE a/);
	await pi.close();

	// The end of the branch that was left goes missing from the session file.
	const lines = readFileSync(sessionFile, "utf8").split("\n");
	writeFileSync(sessionFile, lines.filter((line) => !line.includes(`"id":"${leafId}"`)).join("\n"));
	pi = await PiRpc.start(s, { args: ["--continue"] });
	assert.match(await redo(pi), /its place in the conversation is no longer there\. It was dropped\.$/);
	assert.equal(s.read("a.txt"), "zero");
	assert.equal(await redo(pi), NOTHING_TO_REDO);
	await pi.close();

	// The store never drops what the stack needs and takes no reference to nothing, so one is put into its mouth.
	s.extend(
		"forgetful",
		`const { Session } = createRequire(import.meta.url)(${JSON.stringify(addon)});
		const peek = Session.prototype.redoPeek;
		Session.prototype.redoPeek = async function () {
			const item = await peek.call(this);
			return item && { ...item, pointId: "0".repeat(32) };
		};`,
	);
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await undo(pi, /SAY first/, CONVERSATION);
	assert.match(await redo(pi), /the state from before it is no longer kept\. It was dropped\.$/);
	assert.equal(await redo(pi), NOTHING_TO_REDO);
	assert.deepEqual(pi.extensionErrors, []);
});

test("a new prompt clears the redo, and the stack holds only so many", { timeout }, async (t) => {
	const s = await candySandbox(t, { candyUndo: { maxRedoStackSize: 2 } });
	const pi = await PiRpc.start(s);
	for (const turn of ["one", "two", "three"]) await pi.prompt(`WRITE a.txt ${turn}`);
	for (let count = 0; count < 3; count++) await undo(pi, /^1\./);
	assert.equal(s.exists("a.txt"), false);
	await redo(pi);
	await redo(pi);
	// The oldest undo, of the third turn, fell off the stack.
	assert.equal(s.read("a.txt"), "two");
	assert.equal(await redo(pi), NOTHING_TO_REDO);
	await undo(pi, /^1\./);
	await pi.prompt("SAY something else");
	assert.equal(await redo(pi), NOTHING_TO_REDO);
});

test("commands in print and JSON mode leave store and session as they are, to the byte", { timeout }, async (t) => {
	const s = await candySandbox(t);
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.prompt("WRITE a.txt two");
	await undo(pi, /two/);
	await pi.close();
	const state = () => [contents(s.store), s.sessions().map((file) => readFileSync(file, "utf8")), s.read("a.txt")];
	const before = state();
	for (const command of ["/undo", "/redo"]) {
		for (const mode of [["-p"], ["--mode", "json"]]) {
			const { code, stderr } = await s.run([...mode, "--continue", command]);
			assert.equal(code, 0, stderr);
			assert.match(stderr, /candy-undo is off: \/undo and \/redo need the terminal or RPC mode; nothing was changed\./);
			assert.deepEqual(state(), before, `${mode.join(" ")} ${command}`);
		}
	}
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await redo(pi);
	assert.equal(s.read("a.txt"), "two");
});

test("a follow-up is a row of its own, with the state in which it began", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	const done = pi.waitFor((record) => record.type === "agent_settled");
	await pi.prompt("WRITE a.txt one\nSLEEP 400\nWRITE a.txt two", { wait: false });
	await until(() => s.read("a.txt") === "one", "the first write");
	await pi.prompt("WRITE a.txt three\nWRITE b.txt new", { wait: false, streamingBehavior: "followUp" });
	await done;
	assert.equal(s.read("a.txt"), "three");
	const shown = await rows(pi);
	assert.deepEqual(shown, [
		"1. WRITE a.txt three WRITE b.txt new · 2 files · +1 -2",
		"2. WRITE a.txt one SLEEP 400 WRITE a.txt two · 2 files · +1 -2",
	]);
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt"), "two");
	assert.equal(s.exists("b.txt"), false);
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt"), "zero");
});

test("an expanded template is a prompt: a snapshot of its own, and redo is cleared", { timeout }, async (t) => {
	const s = await candySandbox(t);
	mkdirSync(join(s.agentDir, "prompts"));
	writeFileSync(join(s.agentDir, "prompts", "put.md"), "---\ndescription: Writes\n---\nWRITE a.txt $1\n");
	const pi = await PiRpc.start(s);
	const settled = pi.waitFor((record) => record.type === "agent_settled");
	await pi.call({ type: "prompt", message: "/put one" });
	await settled;
	assert.equal(s.read("a.txt"), "one");
	assert.match((await rows(pi))[0], /^1\. WRITE a\.txt one · 1 file/);
	await pi.prompt("WRITE a.txt two");
	await undo(pi, /two/);
	const again = pi.waitFor((record) => record.type === "agent_settled");
	await pi.call({ type: "prompt", message: "/put three" });
	await again;
	assert.equal(await redo(pi), NOTHING_TO_REDO);
	await undo(pi, /three/);
	assert.equal(s.read("a.txt"), "one");
	await undo(pi, /one/);
	assert.equal(s.exists("a.txt"), false);
});

test("what an extension asks starts no operation, and does not swallow the next prompt", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	s.extend("asker", 'pi.registerCommand("ask", { handler: async () => pi.sendUserMessage("WRITE a.txt asked") });');
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await undo(pi, /one/);
	const settled = pi.waitFor((record) => record.type === "agent_settled");
	await pi.command("/ask");
	await settled;
	assert.equal(s.read("a.txt"), "asked");
	assert.doesNotMatch((await rows(pi))[0], /no snapshot/);
	await undo(pi, /asked/);
	assert.equal(s.read("a.txt"), "zero");
	// Nobody typed anything since the first undo, so it can still be taken back.
	await redo(pi);
	await redo(pi);
	assert.equal(s.read("a.txt"), "one");

	const later = pi.waitFor((record) => record.type === "agent_settled");
	await pi.command("/ask");
	await later;
	await pi.prompt("WRITE a.txt typed");
	await undo(pi, /typed/);
	assert.equal(s.read("a.txt"), "asked");
});

test("a call that another extension blocks leaves the file to its owner", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "held.txt": "mine", "sent.txt": "mine", "other.txt": "mine" } });
	s.extend(
		"guard",
		`pi.on("tool_call", (event: any) => {
			if (event.input.path === "held.txt") return { block: true, reason: "not that one" };
			if (event.input.path === "sent.txt") event.input.path = "other.txt";
		});`,
	);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE held.txt agent\nWRITE sent.txt agent\nWRITE a.txt one");
	assert.equal(s.read("held.txt") + s.read("sent.txt") + s.read("other.txt"), "minemineagent");
	s.write("held.txt", "mine, edited");
	s.write("sent.txt", "mine, edited");
	// A path that is changed behind our back cannot be recorded any more: that is said once, and in the row.
	assert.equal(problems(pi).length, 1);
	assert.match(problems(pi)[0], /changed the path of a tool call to .*other\.txt; that file is not recorded/);
	assert.match((await rows(pi))[0], /1 file · .* · not covered: path changed by another extension/);
	await undo(pi, /^1\./);
	assert.equal(s.exists("a.txt"), false);
	assert.equal(s.read("held.txt") + s.read("sent.txt"), "mine, editedmine, edited");
	assert.equal(s.read("other.txt"), "agent");
});

test("a session that two processes resumed keeps the history of both", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero", "b.txt": "zero" } });
	const first = await PiRpc.start(s);
	await first.prompt("WRITE a.txt one");
	await first.close();
	const [left, right] = await Promise.all([1, 2].map(() => PiRpc.start(s, { args: ["--continue"] })));
	await left.prompt("WRITE a.txt left");
	await right.prompt("WRITE b.txt right");
	await left.prompt("WRITE a.txt left-two");
	await undo(right, /WRITE b/);
	assert.equal(s.read("b.txt"), "zero");
	await redo(right);
	assert.equal(s.read("b.txt"), "right");
	await undo(left, /left-two/);
	assert.equal(s.read("a.txt"), "left");
	await left.close();
	await right.close();
	assert.deepEqual([...problems(left), ...problems(right)], []);

	// The session file has both branches; whichever is resumed, its messages have their snapshots.
	const { entries } = readSession(s.sessions()[0]);
	assert.equal(entries.filter((entry) => entry.message?.role === "user").length, 4);
	const third = await PiRpc.start(s, { args: ["--continue"] });
	const shown = await rows(third);
	assert.ok(shown.length >= 2 && shown.every((row) => !row.includes("no snapshot")), shown.join("\n"));
	await undo(third, /WRITE a\.txt one/);
	assert.equal(s.read("a.txt") + s.read("b.txt"), "zerozero");
});

test("a restore that kill -9 interrupted is offered at the next undo: roll back, later, finish", {
	timeout,
}, async (t) => {
	const names = Array.from({ length: 200 }, (_, at) => `many/${at}`);
	const s = await candySandbox(t, { args: ["--tools", "+codemode"], files: { "kept.txt": "mine" } });
	for (const name of names) s.write(name, "old");
	const left = () => names.filter((name) => s.read(name) === "new").length;
	const code = `for (let at = 0; at < ${names.length}; at++) await tools.write({ path: "many/" + at, content: "new" });`;
	let pi = await PiRpc.start(s);
	await pi.prompt(`TOOL codemode ${JSON.stringify({ code })}`);
	assert.equal(left(), names.length);

	const killWhileRestoring = async () => {
		// A look every few milliseconds could come too late on a busy machine; the system tells at once.
		const watcher = watch(s.path("many"));
		const touched = once(watcher, "change").then(() => pi.crash());
		await assert.rejects(undo(pi, /^1\./, CODE), /SIGKILL/);
		await touched;
		watcher.close();
		pi = await PiRpc.start(s, { args: ["--continue"] });
		assert.match(
			problems(pi)[0],
			/An earlier restore of 200 files was interrupted\. \/undo offers to finish it or to roll it back/,
		);
	};

	await killWhileRestoring();
	assert.ok(left() > 0, "the restore was killed before it was done");
	const title = /A restore of 200 files was interrupted \(just now\)\. What now\?/.source;
	const undone = await pi.command("/undo", [{ select: "Roll it back", title }, { cancel: true }]);
	assert.match(undone[0].message, /^Rolled back: \d+ files?\.$/);
	assert.equal(left(), names.length);

	await killWhileRestoring();
	const some = left();
	await pi.command("/undo", [{ cancel: true }]);
	await pi.command("/undo", [{ select: "Decide later", title }, { cancel: true }]);
	assert.equal(left(), some);
	const finished = await pi.command("/undo", [{ select: "Finish it", title }, { cancel: true }]);
	assert.match(finished[0].message, /^Finished: \d+ files? restored\. \/redo takes it back\.$/);
	assert.equal(left(), 0);
	assert.equal(s.read("kept.txt"), "mine");
	// It is settled: the next undo says nothing of it.
	await pi.command("/undo", [{ cancel: true }]);
	assert.deepEqual(pi.extensionErrors, []);
});

test("chosen or not, code and conversation go their own ways", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	assert.equal(await undo(pi, /^1\./, CODE), "1 file restored.");
	assert.equal((await pi.userMessages()).length, 1);
	// The files are there already: only the conversation is left to go back.
	assert.equal((await menu(pi, /^1\./)).options.length, 4);
	assert.equal(await undo(pi, /^1\./, CONVERSATION), "The conversation is back to before “WRITE a.txt one”.");
	await redo(pi);
	assert.equal((await pi.userMessages()).length, 1);
	assert.equal(s.read("a.txt"), "zero");
	await redo(pi);
	assert.equal(s.read("a.txt"), "one");
	assert.match(
		await undo(pi, /^1\./, BOTH),
		/^1 file restored\.\nThe conversation is back to before “WRITE a\.txt one”\.$/,
	);
});

test("a summary that fails leaves everything as it is, and names the reason", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const { leafId } = await pi.entries();
	await s.model.close();
	const said = await undo(pi, /^1\./, SUMMARIZE);
	assert.match(said, /^The conversation stays where it is: .*summarization failed/);
	assert.equal(pi.notifications.at(-1).type, "error");
	assert.equal((await pi.entries()).leafId, leafId);
	assert.deepEqual([...pi.status.values()].filter(Boolean), [], "no status is left in the footer");
	assert.equal(await redo(pi), NOTHING_TO_REDO);
	assert.deepEqual(pi.extensionErrors, []);
});

test("retries, refused prompts and prompts without text are rows as they should be", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	const done = pi.waitFor((record) => record.type === "agent_settled");
	await pi.prompt("WRITE a.txt one\nSLEEP 400\nWRITE a.txt two", { wait: false });
	await until(() => s.read("a.txt") === "one", "the first write");
	// Neither steering nor a follow-up: pi takes no second prompt, so it is no row and binds nothing.
	const refused = await pi.request({ type: "prompt", message: "WRITE a.txt refused" });
	assert.equal(refused.success, false);
	await done;
	await pi.prompt("FAIL 2 503\nWRITE a.txt three\nFAIL 1 500\nWRITE b.txt made");
	const image = { type: "image", data: PIXEL, mimeType: "image/png" };
	await pi.prompt("", { images: [image] });
	assert.deepEqual(await rows(pi), [
		"1. (no text) · no file changes",
		"2. FAIL 2 503 WRITE a.txt three FAIL 1 500 WRITE b.txt made · 2 files · +1 -2",
		"3. WRITE a.txt one SLEEP 400 WRITE a.txt two · 2 files · +1 -2",
	]);
	await undo(pi, /FAIL/);
	assert.equal(s.read("a.txt"), "two");
	assert.equal(s.exists("b.txt"), false);
	assert.deepEqual(problems(pi), []);
});

test("a run that an extension's message started belongs to the turn before it", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	s.extend(
		"poster",
		`const message = { customType: "post", content: "WRITE a.txt posted", display: true };
		pi.registerCommand("post", { handler: async () => pi.sendMessage(message, { triggerTurn: true }) });`,
	);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const done = pi.waitFor((record) => record.type === "agent_settled");
	await pi.command("/post");
	await done;
	await pi.prompt("WRITE a.txt two");
	assert.equal((await rows(pi)).length, 2);
	await undo(pi, /two/);
	assert.equal(s.read("a.txt"), "posted");
	await undo(pi, /one/);
	assert.equal(s.read("a.txt"), "zero");
});

test("words after /undo name the message and what to take back, without any dialog", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	for (const text of ["one", "two", "three"]) await pi.prompt(`WRITE a.txt ${text}`);
	const said = async (command) => (await pi.command(command)).map(({ message }) => message).join("\n");
	assert.match(await said("/undo 2 --code"), /^1 file restored\.$/);
	assert.equal(s.read("a.txt"), "one");
	assert.equal((await pi.userMessages()).length, 3);
	await redo(pi);
	// An action alone means the newest message.
	assert.match(await said("/undo --both"), /back to before “WRITE a\.txt three”/);
	assert.equal(s.read("a.txt"), "two");
	assert.match(await said("/undo --conversation 1"), /back to before “WRITE a\.txt two”/);
	assert.equal(s.read("a.txt"), "two");
	await redo(pi);
	assert.match(await said("/undo --summarize"), /with a summary/);
	await redo(pi);
	await redo(pi);
	assert.equal(s.read("a.txt"), "three");
	// A number alone opens the menu of that message.
	await pi.command("/undo 3", [{ ...CODE, title: "“WRITE a\\.txt one”" }]);
	assert.equal(s.read("a.txt"), "zero");
	await redo(pi);

	const before = (await pi.entries()).leafId;
	for (const wrong of ["/undo 9 --code", "/undo 0", "/undo --all", "/undo --code --both", "/undo 1 2", "/undo soon"]) {
		assert.equal((await pi.command(wrong)).length, 1, wrong);
	}
	assert.equal((await pi.entries()).leafId, before);
	assert.equal(s.read("a.txt"), "three");
	assert.equal(problems(pi).length, 6);
});

testOnEachPi("the model is told once of files that an undo of code took back", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero" } });
	const told = (text) => JSON.stringify(s.model.requests.at(-1).messages).split(text).length - 1;
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one\nWRITE b.txt one");
	await undo(pi, /^1\./, CODE);
	await pi.close();
	// It waits for the next prompt, also in another process.
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await pi.prompt("SAY go on");
	assert.equal(told(NOTE), 1);
	assert.match(JSON.stringify(s.model.requests.at(-1).messages), /a\.txt, b\.txt/);
	await pi.prompt("WRITE a.txt two");
	assert.equal(told(NOTE), 1, "the note stays in the conversation and is not said again");
	assert.equal((await rows(pi)).length, 3);
	// What was put back, or left with its branch, is nothing to tell.
	await undo(pi, /two/, CODE);
	await redo(pi);
	await pi.prompt("SAY once more");
	assert.equal(told(NOTE), 1);
	await undo(pi, /WRITE a\.txt two/);
	await pi.prompt("SAY and again");
	assert.equal(told(NOTE), 1);
	assert.equal(s.read("a.txt"), "zero");
	assert.deepEqual(pi.extensionErrors, []);
});

test("a summary that the user stops leaves everything as it is", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const asked = s.model.requests.length;
	s.model.summaryDelay = 20_000;
	const stopped = undo(pi, /^1\./, SUMMARIZE);
	await until(() => s.model.requests.length > asked, "the request for a summary");
	assert.equal([...pi.status.values()].filter(Boolean).length, 1, "the footer says what is being waited for");
	await pi.abort();
	assert.equal(await stopped, "Moving in the conversation was cancelled.");
	assert.equal((await pi.userMessages()).length, 1);
	assert.deepEqual([...pi.status.values()].filter(Boolean), []);
	assert.equal(await redo(pi), NOTHING_TO_REDO);
	assert.deepEqual(pi.extensionErrors, []);
});

test("undo waits for a compaction that is on", { timeout }, async (t) => {
	const s = await candySandbox(t, { settings: { compaction: { keepRecentTokens: 30 } } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.prompt("WRITE a.txt two");
	const asked = s.model.requests.length;
	s.model.summaryDelay = 700;
	const compacted = pi.compact();
	await until(() => s.model.requests.length > asked, "the request for a summary");
	const said = await undo(pi, /^1\./);
	await compacted;
	assert.match(said, /^1 file restored\.\nThe conversation is back to before “WRITE a\.txt two”/);
	assert.equal(s.read("a.txt"), "one");
	assert.equal((await pi.userMessages()).length, 1);
	await redo(pi);
	assert.equal(s.read("a.txt"), "two");
	assert.ok((await pi.branch()).some(({ type }) => type === "compaction"));
});
