/** Resume, crash and fork: the history belongs to the session, not to the process. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { readSession } from "./harness/pi-sandbox.mjs";
import { candySandbox, PiRpc, problems, redo, rows, testOnEachPi, undo, until } from "./support.mjs";

const timeout = 90_000;

testOnEachPi(
	"resume finds its history and its redo, and an undo survives the restart",
	{ timeout },
	async (t, version) => {
		const s = await candySandbox(t, { pi: version });
		let pi = await PiRpc.start(s);
		await pi.prompt("WRITE a.txt one");
		await pi.prompt("WRITE a.txt two");
		await undo(pi, /two/);
		await pi.close();

		pi = await PiRpc.start(s, { args: ["--continue"] });
		assert.equal((await pi.userMessages()).length, 1);
		assert.equal(s.read("a.txt"), "one");
		assert.match(await redo(pi), /1 file put back/);
		assert.equal(s.read("a.txt"), "two");
		assert.equal((await pi.userMessages()).length, 2);
		await pi.close();

		pi = await PiRpc.start(s, { args: ["--continue"] });
		assert.equal((await pi.userMessages()).length, 2);
		await undo(pi, /one/);
		assert.equal(s.exists("a.txt"), false);
		assert.deepEqual(problems(pi), []);
	},
);

testOnEachPi("a killed pi loses nothing: resume and undo", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero", "b.txt": "bee" } });
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.prompt("WRITE a.txt two\nWRITE b.txt changed\nHANG", { wait: false });
	await pi.waitFor(
		(record) => record.type === "message_update" && record.assistantMessageEvent.delta?.includes("hanging"),
	);
	await pi.crash();
	assert.equal(s.read("a.txt") + s.read("b.txt"), "twochanged");

	pi = await PiRpc.start(s, { args: ["--continue"] });
	assert.ok((await rows(pi)).every((row) => !row.includes("no snapshot")));
	await undo(pi, /two/);
	assert.equal(s.read("a.txt") + s.read("b.txt"), "onebee");
	await undo(pi, /one/);
	assert.equal(s.read("a.txt"), "zero");
	assert.deepEqual(problems(pi), []);
});

testOnEachPi("killed as soon as the tool has written", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero" } });
	let pi = await PiRpc.start(s);
	const ended = pi.waitFor((record) => record.type === "tool_execution_end");
	await pi.prompt("WRITE a.txt one\nSLEEP 5000\nWRITE a.txt two", { wait: false });
	await ended;
	await pi.crash();
	pi = await PiRpc.start(s, { args: ["--continue"] });
	await undo(pi, /WRITE a/);
	assert.equal(s.read("a.txt"), "zero");
});

testOnEachPi(
	"killed before any answer: the unanswered message can be undone and redone",
	{ timeout },
	async (t, version) => {
		const s = await candySandbox(t, { pi: version });
		let pi = await PiRpc.start(s);
		await pi.prompt("WRITE a.txt one");
		const asked = s.model.requests.length;
		await pi.prompt("SLEEP 5000\nSAY never", { wait: false });
		await until(() => s.model.requests.length > asked, "the request");
		await pi.crash();
		pi = await PiRpc.start(s, { args: ["--continue"] });
		const [, lost] = await pi.userMessages();
		assert.match(await undo(pi, /never/, { select: "Restore conversation" }), /back to before/);
		assert.equal((await pi.userMessages()).length, 1);
		assert.equal(pi.editorText, "SLEEP 5000\nSAY never");
		await redo(pi);
		assert.equal((await pi.userMessages()).at(-1).id, lost.id);
	},
);

testOnEachPi("a fork inside pi inherits the history, and both go their own ways", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.prompt("WRITE a.txt two");
	await pi.prompt("WRITE a.txt three");
	const parent = await pi.state();
	const messages = await pi.userMessages();
	await pi.fork(messages[2].id);
	assert.notEqual((await pi.state()).sessionId, parent.sessionId);
	assert.equal(await redo(pi), "There is nothing to redo.");
	const shown = await rows(pi);
	assert.equal(shown.length, 2);
	assert.ok(
		shown.every((row) => !row.includes("no snapshot")),
		shown.join("\n"),
	);
	await pi.prompt("WRITE b.txt fork");
	await undo(pi, /WRITE a.txt two/);
	assert.equal(s.read("a.txt"), "one");
	assert.equal(s.exists("b.txt"), false);

	await pi.switchSession(parent.sessionFile);
	assert.equal((await pi.state()).sessionId, parent.sessionId);
	assert.deepEqual(problems(pi), []);
	// The parent's agent left "three" there: what the fork did to the file counts as somebody else's change.
	assert.match(await undo(pi, /WRITE a.txt one/), /changes made by hand; .*a\.txt/);
	assert.equal(s.read("a.txt"), "zero");
	await redo(pi);
	assert.equal(s.read("a.txt"), "one");
	await pi.clone();
	await undo(pi, /WRITE a.txt one/);
	assert.equal(s.read("a.txt"), "zero");
	assert.deepEqual(pi.extensionErrors, []);
});

testOnEachPi("a fork from the command line inherits the history", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero" } });
	let pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const parent = await pi.state();
	await pi.close();
	pi = await PiRpc.start(s, { args: ["--fork", parent.sessionFile] });
	const child = await pi.state();
	assert.notEqual(child.sessionId, parent.sessionId);
	assert.ok((await rows(pi)).every((row) => !row.includes("no snapshot")));
	await undo(pi, /WRITE a/);
	assert.equal(s.read("a.txt"), "zero");
	await pi.prompt("WRITE a.txt forked");
	await pi.close();
	assert.equal(readSession((await s.sessions()).at(-1)).header.parentSession, parent.sessionFile);

	// The child has a history of its own by now: opening it again must not take the parent's once more.
	pi = await PiRpc.start(s, { args: ["--session", s.sessions().at(-1)] });
	await undo(pi, /forked/);
	assert.equal(s.read("a.txt"), "zero");
});

test("a new session in the same process starts empty", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.newSession();
	assert.equal((await pi.command("/undo"))[0].message, "There is no message to go back to.");
	await pi.prompt("WRITE b.txt two");
	await undo(pi, /WRITE b/);
	assert.equal(s.exists("b.txt"), false);
	assert.equal(s.read("a.txt"), "one");
});

testOnEachPi("two processes on one session: neither loses the other's history", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero", "b.txt": "zero" } });
	const one = await PiRpc.start(s);
	await one.prompt("WRITE a.txt one");
	const two = await PiRpc.start(s, { args: ["--continue"] });
	await two.prompt("WRITE b.txt two");
	await one.prompt("WRITE a.txt three");
	await undo(two, /WRITE b/);
	assert.equal(s.read("b.txt"), "zero");
	await undo(one, /WRITE a.txt three/);
	assert.equal(s.read("a.txt"), "one");
	assert.deepEqual([...problems(one), ...problems(two)], []);
});

testOnEachPi(
	"undone up to the first message, the session can be resumed and redone",
	{ timeout },
	async (t, version) => {
		const s = await candySandbox(t, { pi: version, files: { "a.txt": "zero" } });
		let pi = await PiRpc.start(s);
		await pi.prompt("WRITE a.txt one");
		const { sessionId } = await pi.state();
		await undo(pi, /^1\./);
		await pi.close();
		pi = await PiRpc.start(s, { args: ["--continue"] });
		assert.equal((await pi.state()).sessionId, sessionId);
		assert.equal((await pi.userMessages()).length, 0);
		await redo(pi);
		assert.equal(s.read("a.txt"), "one");
		assert.equal((await pi.userMessages()).length, 1);
		await undo(pi, /^1\./);
		// What was undone is nothing that the model hears of.
		await pi.prompt("WRITE a.txt again");
		assert.equal(s.model.requests.at(-1).messages.filter(({ role }) => role === "user").length, 1);
		assert.equal((await rows(pi)).length, 1);
	},
);

testOnEachPi("a session that pi does not save can be undone and redone as well", { timeout }, async (t, version) => {
	const s = await candySandbox(t, { pi: version, args: ["--no-session"], files: { "a.txt": "zero" } });
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await pi.prompt("WRITE a.txt two");
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt"), "one");
	await redo(pi);
	assert.equal(s.read("a.txt"), "two");
	assert.equal((await pi.userMessages()).length, 2);
	assert.deepEqual(s.sessions(), []);
});

test("a reload of the extensions keeps history and redo", { timeout }, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero" } });
	s.extend("reloader", 'pi.registerCommand("again", { handler: (_args: string, ctx: any) => ctx.reload() });');
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await undo(pi, /^1\./);
	await pi.command("/again");
	await redo(pi);
	assert.equal(s.read("a.txt"), "one");
	await pi.prompt("WRITE a.txt two");
	await pi.command("/again");
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt"), "one");
	await undo(pi, /^1\./);
	assert.equal(s.read("a.txt"), "zero");
	assert.deepEqual([...problems(pi), ...pi.extensionErrors], []);
});

test("two sessions in one folder, undone at the same moment, do not disturb each other", { timeout }, async (t) => {
	const s = await candySandbox(t, { args: ["--tools", "+codemode"] });
	const pis = await Promise.all([PiRpc.start(s), PiRpc.start(s)]);
	const script = (folder) =>
		`for (let at = 0; at < 60; at++) await tools.write({ path: "${folder}/" + at, content: "x" });`;
	await Promise.all(pis.map((pi, at) => pi.prompt(`TOOL codemode ${JSON.stringify({ code: script(`folder${at}`) })}`)));
	for (const said of await Promise.all(pis.map((pi) => undo(pi, /^1\./)))) assert.match(said, /^60 files restored\./);
	for (const at of [0, 1]) assert.deepEqual(readdirSync(s.path(`folder${at}`)), []);
	for (const said of await Promise.all(pis.map((pi) => redo(pi)))) assert.match(said, /^60 files put back\./);
	assert.deepEqual(pis.flatMap(problems), []);
});

test("pi that is closed while a dialog is open ends in order, and nothing has changed", { timeout }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	const open = pi.waitFor((record) => record.type === "extension_ui_request" && record.method === "select");
	pi.answer({ hold: () => {} });
	pi.request({ type: "prompt", message: "/undo" }).catch(() => {});
	await open;
	assert.deepEqual(await pi.close(), { code: 0, signal: null });
	assert.equal(pi.stderr, "");
	assert.equal(s.read("a.txt"), "one");
	assert.deepEqual(pi.extensionErrors, []);
});

test("an undo of one process can only be taken back there, and waits there for it", {
	timeout,
}, async (t) => {
	const s = await candySandbox(t, { files: { "a.txt": "zero", "b.txt": "zero" } });
	const first = await PiRpc.start(s);
	await first.prompt("WRITE a.txt one");
	await first.close();
	const [left, right] = await Promise.all([1, 2].map(() => PiRpc.start(s, { args: ["--continue"] })));
	await left.prompt("WRITE a.txt left");
	await right.prompt("WRITE b.txt right");
	await undo(left, /left/);
	await redo(right);
	assert.match(await redo(left), /put back/);
	assert.equal(s.read("a.txt"), "left");
	await undo(left, /left/);
	await right.prompt("SAY something");
	assert.match(await redo(left), /put back/);
});
