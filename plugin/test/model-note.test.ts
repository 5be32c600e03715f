import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeError } from "./fake-native.ts";
import { makeWorld, StubPi } from "./stub-pi.ts";

test("after an undo of files alone the next prompt tells the model, once", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", async () => {
		await pi.write("a.txt", "one");
		await pi.write("b.txt", "one");
	});
	await pi.command("undo --code");
	await pi.prompt("second");
	assert.equal(pi.notes.length, 1);
	assert.match(pi.notes[0] ?? "", /read them again.*a\.txt, b\.txt/);
	await pi.prompt("third");
	assert.equal(pi.notes.length, 1);
});

test("nothing is said when the conversation went back as well: the model never saw what is gone", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.prompt("second", () => pi.write("a.txt", "two"));
	await pi.command("undo --both");
	await pi.prompt("other");
	assert.deepEqual(pi.notes, []);
});

test("a redo before the next prompt makes the note needless", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo --code");
	await pi.command("redo");
	await pi.prompt("second");
	assert.deepEqual(pi.notes, []);
});

test("the note outlives the process that made the undo", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo --code");
	const again = await new StubPi(world, { entries: pi.entries }).start();
	await again.prompt("second");
	assert.match(again.notes[0] ?? "", /a\.txt/);
});

test("notifyModel: false keeps it from the model", async (t) => {
	const pi = new StubPi(makeWorld(t));
	pi.settings["notifyModel"] = false;
	await pi.start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo --code");
	await pi.prompt("second");
	assert.deepEqual(pi.notes, []);
});

test("the footer is empty while all is well, and says when history is off or has holes", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	assert.deepEqual([...pi.statuses.values()], []);
	world.disk.fail.set("snapshot", fakeError("CANDY_IO", "the disk is gone"));
	await pi.prompt("second");
	assert.deepEqual([...pi.statuses.values()], ["file history: incomplete"]);
	world.disk.fail.clear();
	await pi.prompt("third");
	assert.deepEqual([...pi.statuses.values()], []);
	await pi.quit();
	world.disk.fail.set("open", fakeError("CANDY_IO", "the disk is gone"));
	const off = await new StubPi(world).start();
	assert.deepEqual([...off.statuses.values()], ["file history: off"]);
});

test("turns made while the plugin was off are marked, and dropped snapshots are not", async (t) => {
	const world = makeWorld(t);
	const pi = new StubPi(world);
	await pi.prompt("before it was installed");
	await new Promise((done) => setTimeout(done, 5));
	await pi.start();
	await pi.prompt("recorded", () => pi.write("a.txt", "one"));
	pi.append({ type: "message", message: { role: "user", content: "made without the plugin" } });
	pi.append({ type: "message", message: { role: "assistant", content: [] } });
	await pi.prompt("recorded again");
	await pi.command("undo", [undefined]);
	const rows = pi.dialogs[0]?.options ?? [];
	assert.deepEqual(
		rows.map((row) => /history was off/.test(row)),
		[false, true, false, true],
		rows.join("\n"),
	);
});
