import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CandyError } from "../src/errors.ts";
import { fakeError } from "./fake-native.ts";
import { makeWorld, StubPi } from "./stub-pi.ts";

const BOTH = /code and conversation/;

test("undo and redo move files and conversation, any number of times", async (t) => {
	const world = makeWorld(t);
	const read = (name: string) => readFileSync(join(world.cwd, name), "utf8");
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.prompt("second", () => pi.write("a.txt", "two"));
	const full = pi.leafId;
	for (let round = 0; round < 3; round++) {
		const said = await pi.command("undo", [/second/, BOTH]);
		assert.deepEqual(said, ["1 file restored.\nThe conversation is back to before “second”."]);
		assert.equal(read("a.txt"), "one");
		assert.equal(pi.editorText, "second");
		assert.deepEqual(pi.branch().filter((entry) => entry.message !== undefined).length, 4);
		await pi.command("redo");
		assert.equal(read("a.txt"), "two");
		assert.ok(pi.branch().some((entry) => entry.id === full));
	}
	assert.deepEqual(await pi.command("redo"), ["There is nothing to redo."]);
	assert.deepEqual(pi.dialogs[0]?.options, ["1. second · 1 file · +1 -1", "2. first · 1 file · +0 -1"]);
});

test("the menu has six entries when files would change and four when not", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("talk");
	await pi.prompt("work", () => pi.write("a.txt", "one"));
	await pi.command("undo", [/work/, /Never mind/]);
	assert.deepEqual(pi.dialogs[1]?.options, [
		"Restore code and conversation",
		"Restore conversation",
		"Restore code",
		"Summarize",
		"Summarize with custom prompt",
		"Never mind",
	]);
	await pi.command("undo", [/work/, /^Restore code$/]);
	assert.ok(!existsSync(join(world.cwd, "a.txt")));
	await pi.command("undo", [/talk/, /Never mind/]);
	assert.deepEqual(pi.dialogs.at(-1)?.options, [
		"Restore conversation",
		"Summarize",
		"Summarize with custom prompt",
		"Never mind",
	]);
});

test("a new prompt clears the redo stack, also one that merely begins with a slash", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo", [/first/, BOTH]);
	await pi.prompt("/etc/hosts is wrong");
	assert.deepEqual(await pi.command("redo"), ["There is nothing to redo."]);
});

test("a message of another extension neither clears redo nor swallows the next prompt", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo", [/first/, /^Restore code$/]);
	await pi.prompt("robot", undefined, "extension");
	assert.equal(world.disk.stores.values().next().value?.get("session-1")?.redo.length, 1);
	await pi.prompt("second", () => pi.write("a.txt", "two"));
	await pi.command("undo", [/second/, /^Restore code$/]);
	assert.ok(!existsSync(join(world.cwd, "a.txt")));
	assert.ok(pi.dialogs.at(-2)?.options.every((option) => !option.includes("no snapshot")));
});

test("a steered message gets a row of its own with the state in which it arrived", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", async () => {
		await pi.write("a.txt", "one");
		await pi.emit("input", { text: "steer", source: "rpc", streamingBehavior: "steer" });
		pi.append({ type: "message", message: { role: "user", content: "steer" } });
		await pi.emit("context");
		await pi.emit("context");
		await pi.write("b.txt", "two");
	});
	assert.equal(world.disk.count("snapshot"), 3);
	await pi.command("undo", [/steer/, BOTH]);
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one");
	assert.ok(!existsSync(join(world.cwd, "b.txt")));
});

test("a tracked spelling costs the addon no second call, until a tool call on it fails", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", async () => {
		await pi.write("a.txt", "one");
		await pi.write("a.txt", "two");
		await pi.write("./x/../a.txt", "three");
	});
	assert.equal(world.disk.count("track"), 1);
	await pi.prompt("second", async () => {
		await pi.write("new.txt", "one", { isError: true });
		await pi.write("new.txt", "two");
	});
	assert.equal(world.disk.count("track"), 3);
});

test("a blocked call leaves nothing tracked", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	writeFileSync(join(world.cwd, "mine.txt"), "mine");
	await pi.prompt("first", () => pi.write("mine.txt", "theirs", { blocked: true }));
	writeFileSync(join(world.cwd, "mine.txt"), "edited later");
	await pi.command("undo", [/first/, undefined]);
	assert.match(pi.dialogs[0]?.options[0] ?? "", /no file changes/);
});

test("a path that another extension changes is said to be not covered", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", () => pi.write("a.txt", "one", { path: "b.txt" }));
	assert.match(pi.notifications.map((one) => one.message).join(), /b\.txt; that file is not recorded/);
	await pi.command("undo", [undefined]);
	assert.match(pi.dialogs[0]?.options[0] ?? "", /not covered: path changed by another extension/);
});

test("rows name what ran outside of the history", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", async () => {
		await pi.bash();
		await pi.bash();
		await pi.write("yarn.lock", "x");
	});
	await pi.command("undo", [undefined]);
	assert.match(pi.dialogs[0]?.options[0] ?? "", /not covered: bash, excluded file$/);
});

test("a failing store never stops a tool, and is reported once", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	world.disk.fail.set("track", fakeError("CANDY_NO_SPACE", "no space", "/store"));
	await pi.prompt("first", async () => {
		await pi.write("a.txt", "one");
		await pi.write("b.txt", "two");
	});
	assert.equal(readFileSync(join(world.cwd, "b.txt"), "utf8"), "two");
	assert.equal(pi.notifications.length, 1);
	assert.match(pi.notifications[0]?.message ?? "", /disk that holds \/store is full/);
	world.disk.fail.clear();
	await pi.command("undo", [undefined]);
	assert.match(pi.dialogs[0]?.options[0] ?? "", /not covered: history store failed/);
});

test("a turn whose snapshot failed has no snapshot of its own, and says so", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	world.disk.fail.set("snapshot", fakeError("CANDY_PERMISSION", "denied", "/store"));
	await pi.prompt("first");
	world.disk.fail.clear();
	await pi.prompt("second", () => pi.write("a.txt", "one"));
	await pi.command("undo", [undefined]);
	assert.deepEqual(pi.dialogs[0]?.options, [
		"1. second · 1 file · +0 -1",
		"2. first · 1 file · +0 -1 · no snapshot of its own · not covered: history store failed",
	]);
});

test("a store that cannot be opened is said once, and tried again at the next prompt", async (t) => {
	const world = makeWorld(t);
	world.disk.fail.set("open", fakeError("CANDY_PERMISSION", "denied", "/store"));
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	assert.equal(pi.notifications.length, 1);
	assert.match((await pi.command("undo"))[0] ?? "", /candy-undo is off: no permission for \/store/);
	world.disk.fail.clear();
	await pi.prompt("second", () => pi.write("a.txt", "two"));
	await pi.command("undo", [/second/, BOTH]);
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one");
});

test("without a binary the plugin is off, says why once, and tools run", async (t) => {
	const world = makeWorld(t);
	const loadNative = () => {
		throw new CandyError("no such file", { code: "CANDY_NO_ADDON" });
	};
	const pi = await new StubPi(world, { ports: { loadNative } }).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	assert.equal(pi.notifications.length, 1);
	assert.match(pi.notifications[0]?.message ?? "", /does not load on this machine \(no such file\)/);
});

test("print mode opens nothing and says why on the error stream", async (t) => {
	const world = makeWorld(t);
	const pi = new StubPi(world);
	pi.mode = "print";
	await pi.start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo");
	assert.deepEqual(world.disk.calls, []);
	assert.match(pi.errors.join(), /need the terminal or RPC mode/);
});

test("failed files stop the undo: no navigation, nothing to redo, and a way back", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", async () => {
		await pi.write("a.txt", "one");
		await pi.write("busy.txt", "one");
	});
	world.disk.failedPaths.add("busy.txt");
	const leaf = pi.leafId;
	const [said] = await pi.command("undo", [/first/, BOTH]);
	assert.match(
		said ?? "",
		/1 file could not be restored[\s\S]*busy\.txt: file is busy[\s\S]*1 other file was restored[\s\S]*candy-store restore 0/,
	);
	assert.equal(pi.leafId, leaf);
	assert.deepEqual(await pi.command("redo"), ["There is nothing to redo."]);
});

test("a cancelled navigation leaves a redo of the files alone", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	const leaf = pi.leafId;
	pi.cancelNavigation = true;
	await pi.command("undo", [/first/, BOTH]);
	pi.cancelNavigation = false;
	assert.ok(!existsSync(join(world.cwd, "a.txt")));
	assert.deepEqual(await pi.command("redo"), ["1 file put back."]);
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one");
	assert.ok(pi.branch().some((entry) => entry.id === leaf));
});

test("a run that starts while the menu is open keeps every file as it is", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	const answer = async () => {
		pi.idle = false;
		return BOTH;
	};
	const said = await pi.command("undo", [/first/, answer]);
	assert.match(said[0] ?? "", /started to work meanwhile/);
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one");
	assert.equal(world.disk.count("apply"), 0);
});

test("a second command does nothing while the first has a dialog open", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	let second: string[] = [];
	await pi.command("undo", [
		async () => {
			second = await pi.command("redo");
			return undefined;
		},
	]);
	assert.match(second[0] ?? "", /still open/);
	assert.deepEqual((await pi.command("redo"))[0], "There is nothing to redo.");
});

test("an unanswered message as leaf can be undone and redone exactly", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	const before = pi.leafId;
	await pi.emit("input", { text: "lost", source: "rpc" });
	await pi.emit("before_agent_start", { prompt: "lost" });
	const lost = pi.append({ type: "message", message: { role: "user", content: "lost" } });
	await pi.emit("context");
	await pi.command("undo", [/lost/, /Restore conversation/]);
	assert.equal(pi.entry(pi.leafId)?.parentId, before);
	assert.equal(pi.editorText, "lost");
	await pi.command("redo");
	assert.ok(pi.branch().some((entry) => entry.id === lost));
});

test("a killed session is resumed with its history, binding included", async (t) => {
	const world = makeWorld(t);
	const first = await new StubPi(world).start();
	await first.emit("input", { text: "work", source: "rpc" });
	await first.emit("before_agent_start", { messageType: "user", prompt: "work" });
	first.append({ type: "message", message: { role: "user", content: "work" } });
	await first.emit("context");
	await first.write("a.txt", "one");
	const second = await new StubPi(world, { entries: first.entries }).start();
	await second.command("undo", [/work/, BOTH]);
	assert.ok(!existsSync(join(world.cwd, "a.txt")));
	assert.ok(!second.dialogs[0]?.options[0]?.includes("no snapshot"));
});

test("a fork inherits the history but not the redo stack", async (t) => {
	const world = makeWorld(t);
	const parentFile = join(world.root, "x_session-1.jsonl");
	writeFileSync(parentFile, `${JSON.stringify({ type: "session", id: "session-1", cwd: world.cwd })}\n`);
	const parent = await new StubPi(world).start();
	await parent.prompt("first", () => parent.write("a.txt", "one"));
	await parent.command("undo", [/first/, /^Restore code$/]);
	await parent.command("redo");
	await parent.command("undo", [/first/, /^Restore code$/]);
	writeFileSync(join(world.cwd, "a.txt"), "one");

	const child = new StubPi(world, { entries: structuredClone(parent.entries), sessionId: "session-2" });
	child.header = { parentSession: parentFile };
	await child.start();
	assert.deepEqual(await child.command("redo"), ["There is nothing to redo."]);
	await child.command("undo", [/first/, BOTH]);
	assert.ok(!existsSync(join(world.cwd, "a.txt")));

	const elsewhere = join(world.root, "y_session-3.jsonl");
	writeFileSync(elsewhere, `${JSON.stringify({ type: "session", id: "session-1", cwd: "/elsewhere" })}\n`);
	const other = new StubPi(world, { entries: structuredClone(parent.entries), sessionId: "session-4" });
	await other.start("fork", elsewhere);
	assert.equal(world.disk.count("fork"), 1);
});

test("an interrupted restore is announced once and offered at the next undo", async (t) => {
	const world = makeWorld(t);
	const first = await new StubPi(world).start();
	await first.prompt("first", () => first.write("a.txt", "one"));
	await first.quit();
	const data = world.disk.stores.values().next().value?.get("session-1");
	const redoPointId = data?.points[0]?.id ?? "";
	data?.unfinished.push({ id: "r1", sessionId: "session-1", createdAt: Date.now(), files: 2, redoPointId });
	const pi = await new StubPi(world, { entries: first.entries }).start();
	assert.match(pi.notifications[0]?.message ?? "", /restore of 2 files was interrupted/);
	const said = await pi.command("undo", [/Finish it/, undefined]);
	assert.deepEqual(said, ["Finished: 1 file restored. /redo takes it back."]);
	assert.equal(data?.redo.at(-1)?.pointId, redoPointId);
	await pi.command("undo", [undefined]);
	assert.equal(pi.dialogs.length, 3);
});

test("an interrupted restore of another session is ended without a redo of its own", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.quit();
	const data = world.disk.stores.values().next().value?.get("session-1");
	data?.unfinished.push({ id: "r1", sessionId: "gone", createdAt: Date.now(), files: 2, redoPointId: "0" });
	const again = await new StubPi(world, { entries: pi.entries }).start();
	assert.deepEqual(await again.command("undo", [/Finish it/, undefined]), ["Finished: 1 file restored."]);
	assert.deepEqual(data?.redo, []);
});

test("an undo that another pi with the session made is left to it", async (t) => {
	const world = makeWorld(t);
	const left = await new StubPi(world).start();
	await left.prompt("first", () => left.write("a.txt", "one"));
	const shared = structuredClone(left.entries);
	await left.prompt("second", () => left.write("a.txt", "two"));
	await left.command("undo --both");
	const right = await new StubPi(world, { entries: shared }).start();
	right.sessionFile = join(world.root, "session.jsonl");
	writeFileSync(right.sessionFile, left.entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
	assert.match((await right.command("redo"))[0] ?? "", /made by another pi/);
	assert.match((await left.command("redo"))[0] ?? "", /1 file put back/);
});

test("a fork of an unsaved session inherits", async (t) => {
	const world = makeWorld(t);
	const parent = await new StubPi(world).start();
	await parent.prompt("first", () => parent.write("a.txt", "one"));
	await parent.quit("fork");
	const child = new StubPi(world, { entries: structuredClone(parent.entries), sessionId: "session-2" });
	await child.start("fork");
	await child.command("undo --code");
	assert.ok(!existsSync(join(world.cwd, "a.txt")));
});

test("directories that an undo leaves empty are named", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("made/by/agent.txt", "one"));
	const [said] = await pi.command("undo --code");
	assert.equal(said, "1 file restored.\n1 directory is empty now and was left: made/by");
	assert.ok(existsSync(join(world.cwd, "made", "by")));
});

test("a stale redo item is dropped with the reason", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo", [/first/, BOTH]);
	const data = world.disk.stores.values().next().value?.get("session-1");
	data?.points.splice(0);
	assert.match((await pi.command("redo"))[0] ?? "", /no longer kept\. It was dropped/);
	assert.deepEqual(await pi.command("redo"), ["There is nothing to redo."]);
});

test("changes made by hand are named before and after the undo", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	writeFileSync(join(world.cwd, "a.txt"), "one\nmine\n");
	const [said] = await pi.command("undo", [/first/, /^Restore code$/]);
	assert.match(pi.dialogs[1]?.title ?? "", /a\.txt \(deleted, -2\) — changed by hand/);
	assert.match(said ?? "", /1 file had changes made by hand; \/redo brings them back: a\.txt/);
	await pi.command("redo");
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one\nmine\n");
});

test("shutdown gives everything back, and only a real end tidies", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.quit("resume");
	assert.deepEqual([world.disk.count("closeStore"), world.disk.count("gc")], [1, 0]);
	await pi.start("resume");
	await pi.quit("quit");
	assert.deepEqual([world.disk.count("closeStore"), world.disk.count("gc")], [2, 1]);
});

test("settings: off, language, warnings", async (t) => {
	const world = makeWorld(t);
	const off = new StubPi(world);
	off.settings = { enabled: false };
	await off.start();
	assert.deepEqual(world.disk.calls, []);
	assert.match((await off.command("undo"))[0] ?? "", /设置中已关闭/);
	assert.match(off.commands.get("undo")?.description ?? "", /回到某条消息之前/);

	const odd = new StubPi(world);
	odd.settings = { language: "en", pickerLimit: 0 };
	odd.otherCommands = [{ name: "undo:2", source: "extension", sourceInfo: { path: "/other/index.ts" } }];
	await odd.start();
	assert.match(odd.notifications[0]?.message ?? "", /pickerLimit = 0 \(using 100\)/);
	assert.match(odd.notifications[1]?.message ?? "", /\/undo is also a command of \/other\/index\.ts/);
	assert.match(odd.commands.get("undo")?.description ?? "", /Go back to before/);
});

test("excludes, limits and the store's place reach the addon", async (t) => {
	const world = makeWorld(t);
	const pi = new StubPi(world);
	pi.settings = { storageDir: "~/elsewhere", exclude: ["!*.lock"], maxFileSizeMB: 0.5 };
	await pi.start();
	assert.equal(world.disk.opened[0]?.exclude.at(-1), "!*.lock");
	assert.equal(world.disk.opened[0]?.maxFileSizeBytes, 512 * 1024);
	assert.deepEqual([...world.disk.stores.keys()], [join(world.home, "elsewhere", "store")]);
});

test("summaries move the conversation only, and a cancelled prompt changes nothing", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	assert.deepEqual(await pi.command("undo", [/first/, /custom prompt/], [undefined]), [
		"Cancelled; nothing was changed.",
	]);
	const [said] = await pi.command("undo", [/first/, /custom prompt/], ["keep the plan"]);
	assert.match(said ?? "", /with a summary of what followed/);
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one");
	assert.match((await pi.command("redo"))[0] ?? "", /conversation is where it was/);
});
