/** What users of such tools lost (field cases), as far as the handling of pi's events decides about it. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { Ports } from "../src/ports.ts";
import { DEFAULT_SETTINGS } from "../src/settings.ts";
import { fakeError } from "./fake-native.ts";
import { makeWorld, StubPi, type World } from "./stub-pi.ts";

const BOTH = /code and conversation/;
const CODE = /^Restore code$/;

function put(world: World, name: string, text: string): void {
	mkdirSync(dirname(join(world.cwd, name)), { recursive: true });
	writeFileSync(join(world.cwd, name), text);
}

const read = (world: World, name: string): string => readFileSync(join(world.cwd, name), "utf8");

const session = (world: World) => {
	const data = world.disk.stores.values().next().value?.get("session-1");
	assert.ok(data !== undefined, "the session has a history");
	return data;
};

/** One message with several write calls: pi asks for all of them before it runs the first. */
async function batch(pi: StubPi, calls: readonly { path: string; real?: string; content: string }[]): Promise<void> {
	const named = calls.map((call, at) => ({ ...call, toolCallId: `batch-${at}`, input: { path: call.path } }));
	for (const { toolCallId, input } of named) await pi.emit("tool_call", { toolName: "write", toolCallId, input });
	for (const { toolCallId, input, real, path, content } of named) {
		put(pi.world, real ?? path, content);
		await pi.emit("tool_result", { toolName: "write", toolCallId, input, isError: false });
		await pi.emit("tool_execution_end", { toolName: "write", toolCallId, isError: false });
	}
}

test("A11: moving about in the session without /undo touches no file", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.prompt("second", () => pi.write("a.txt", "two"));
	put(world, "a.txt", "by hand");
	const target = pi.entries[0]?.id;
	await pi.emit("session_before_tree", { preparation: { targetId: target } });
	await pi.emit("session_tree", { newLeafId: target, oldLeafId: pi.leafId });
	await pi.emit("session_before_fork", { entryId: target });
	await pi.quit("fork");
	await pi.start("fork");
	await pi.emit("session_before_switch", { reason: "resume" });
	await pi.quit("resume");
	await pi.start("resume");
	assert.equal(read(world, "a.txt"), "by hand");
	assert.deepEqual([world.disk.count("apply"), world.disk.count("resumeRestore")], [0, 0]);
});

test("A13: files that the agent may still be writing are not restored", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", async () => {
		await pi.write("a.txt", "one");
		const said = await pi.command("undo", [/first/, BOTH]);
		assert.match(said[0] ?? "", /started to work meanwhile|still working|is running/);
		await pi.write("a.txt", "two");
	});
	assert.equal(world.disk.count("apply"), 0);
	await pi.command("undo", [/first/, BOTH]);
	assert.ok(!existsSync(join(world.cwd, "a.txt")));
});

test("A15: no choice that somebody did not make writes a file", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo", [undefined]);
	await pi.command("undo", [/first/, undefined]);
	await pi.command("undo", [/first/, /Never mind/]);
	assert.equal(world.disk.count("apply"), 0);
	assert.equal(read(world, "a.txt"), "one");
	// What would happen to which file was on the screen before any choice.
	assert.match(pi.dialogs.at(-1)?.title ?? "", /a\.txt \(deleted, -1\)/);
});

test("A25: a prompt after an undo leaves nothing to redo", async (t) => {
	const world = makeWorld(t);
	put(world, "f1", "zero");
	put(world, "f2", "zero");
	const pi = await new StubPi(world).start();
	await pi.prompt("one", () => pi.write("f1", "one"));
	await pi.prompt("two", () => pi.write("f2", "two"));
	await pi.prompt("three", () => pi.write("f1", "three"));
	await pi.command("undo", [/two/, BOTH]);
	assert.deepEqual([read(world, "f1"), read(world, "f2")], ["one", "zero"]);
	await pi.prompt("something else");
	assert.deepEqual(await pi.command("redo"), ["There is nothing to redo."]);
	assert.deepEqual([read(world, "f1"), read(world, "f2")], ["one", "zero"]);
});

test("A30: no source of the plugin starts a program", () => {
	const folder = new URL("../src/", import.meta.url);
	const sources = readdirSync(folder, { recursive: true }).map(String);
	assert.ok(sources.length > 20);
	for (const name of sources.filter((one) => one.endsWith(".ts"))) {
		assert.doesNotMatch(readFileSync(new URL(name, folder), "utf8"), /child_process|\.exec\(["'`]git/, name);
	}
});

test("B01, G03: several calls of one message are captured before the first runs, and all come back", async (t) => {
	const world = makeWorld(t);
	for (const name of ["a", "b", "c", "d"]) put(world, name, "zero");
	const pi = await new StubPi(world).start();
	const names = ["a", "b", "c", "d", "made"];
	await pi.prompt("five files", () =>
		batch(
			pi,
			names.map((path) => ({ path, content: "new" })),
		),
	);
	await pi.prompt("one file, three times", () =>
		batch(
			pi,
			["1", "2", "3"].map((content) => ({ path: "a", content })),
		),
	);
	assert.equal(read(world, "a"), "3");
	await pi.command("undo", [/three times/, BOTH]);
	assert.equal(read(world, "a"), "new");
	await pi.command("undo", [/five files/, BOTH]);
	assert.deepEqual(
		names.slice(0, 4).map((name) => read(world, name)),
		Array(4).fill("zero"),
	);
	assert.ok(!existsSync(join(world.cwd, "made")));
});

test("B03: tool results, retries and a compaction are no messages of the user's", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", async () => {
		for (let call = 0; call < 30; call++) {
			await pi.write(`f${call % 7}`, `${call}`, call % 10 === 3 ? { isError: true } : {});
			if (call % 8 === 5) pi.append({ type: "message", message: { role: "assistant", content: [], stopReason: "error" } });
			if (call === 20) pi.append({ type: "compaction", summary: "what was", firstKeptEntryId: pi.leafId, tokensBefore: 9 });
			await pi.emit("context");
			await pi.emit("turn_end");
		}
	});
	await pi.prompt("second", () => pi.write("f0", "last"));
	await pi.command("undo", [undefined]);
	const rows = pi.dialogs[0]?.options ?? [];
	assert.deepEqual(
		rows.map((row) => row.split(" · ")[0]),
		["1. second", "2. first"],
	);
	assert.ok(rows.every((row) => !row.includes("no snapshot")));
	await pi.command("undo", [/second/, CODE]);
	assert.equal(read(world, "f0"), "28");
	await pi.command("undo", [/first/, CODE]);
	assert.deepEqual(readdirSync(world.cwd), []);
});

test("B06: relative and absolute spellings from a subdirectory are one record", async (t) => {
	const world = makeWorld(t);
	put(world, "sub/x", "zero");
	const repository = world.cwd;
	world.cwd = join(repository, "sub");
	const pi = await new StubPi(world).start();
	await pi.prompt("first", async () => {
		for (const path of ["x", "./x", "../sub/x", join(repository, "sub", "x")])
			await batch(pi, [{ path, real: "x", content: path }]);
	});
	assert.deepEqual([...session(world).originals], [[join(repository, "sub", "x"), "zero"]]);
	await pi.command("undo", [/first/, BOTH]);
	assert.equal(read(world, "x"), "zero");
});

test("B07, B18: a turn without history is marked, and the next one has its own again", async (t) => {
	const world = makeWorld(t);
	put(world, "a.txt", "zero");
	const pi = await new StubPi(world).start();
	await pi.prompt("covered", () => pi.write("a.txt", "one"));
	world.disk.fail.set("snapshot", fakeError("CANDY_READ_ONLY", "read only", "/store"));
	await pi.prompt("not covered");
	assert.equal(pi.notifications.length, 1);
	world.disk.fail.clear();
	await pi.prompt("covered again", () => pi.write("a.txt", "three"));
	await pi.command("undo", [/1\. covered again/, CODE]);
	const rows = pi.dialogs[0]?.options ?? [];
	assert.deepEqual(
		rows.map((row) => /no snapshot of its own/.test(row)),
		[false, true, false],
	);
	assert.equal(read(world, "a.txt"), "one");
});

test("B11, B10: a turn with a shell says so, and every undo across it as well", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("edit", () => pi.write("a.txt", "one"));
	await pi.prompt("shell", () => pi.bash());
	const said = await pi.command("undo", [/2\. edit/, CODE]);
	assert.match(pi.dialogs[0]?.options[0] ?? "", /not covered: bash/);
	assert.match(pi.dialogs[1]?.title ?? "", /Not covered since then: bash/);
	assert.match(said.join(), /bash/);
});

test("B23: what the plugin records is the file that the tool writes, also where names only look the same", async (t) => {
	const world = makeWorld(t);
	put(world, "a b.md", "plain space");
	put(world, "a\u00a0b.md", "other space");
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => batch(pi, [{ path: "a\u00a0b.md", real: "a b.md", content: "edited" }]));
	assert.deepEqual([...session(world).originals.keys()], [join(world.cwd, "a b.md")]);
	await pi.command("undo", [/first/, BOTH]);
	assert.equal(read(world, "a b.md"), "plain space");
	assert.equal(read(world, "a\u00a0b.md"), "other space");
});

test("B26: after one undo the next goes to the turn before", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("older", () => pi.write("older.txt", "x"));
	await pi.prompt("newer", () => pi.write("p/q/r.txt", "x"));
	await pi.command("undo", [/^1\./, BOTH]);
	assert.deepEqual([existsSync(join(world.cwd, "p/q/r.txt")), existsSync(join(world.cwd, "older.txt"))], [false, true]);
	await pi.command("undo", [/^1\./, BOTH]);
	assert.deepEqual(pi.dialogs.at(-2)?.options, ["1. older · 1 file · +0 -1"]);
	assert.ok(!existsSync(join(world.cwd, "older.txt")));
});

test("G05: nothing of an earlier undo runs again in a later turn", async (t) => {
	const world = makeWorld(t);
	const first = await new StubPi(world).start();
	await first.prompt("one", () => first.write("a.txt", "one"));
	await first.prompt("two", () => first.write("a.txt", "two"));
	await first.command("undo", [/two/, BOTH]);
	await first.quit();
	const second = await new StubPi(world, { entries: first.branch() }).start("resume");
	put(world, "a.txt", "by hand");
	await second.prompt("three", () => second.write("b.txt", "three"));
	await second.quit();
	assert.deepEqual([world.disk.count("apply"), world.disk.count("resumeRestore")], [1, 0]);
	assert.equal(read(world, "a.txt"), "by hand");
	assert.deepEqual(session(world).redo, []);
});

test("G07: a binary that does not load, or is none of ours, turns the history off and nothing else", async (t) => {
	const broken: Ports["loadNative"][] = [
		() => {
			throw new Error("wrong ELF class");
		},
		() => {
			throw fakeError("CANDY_NO_ADDON", "not this addon");
		},
	];
	for (const loadNative of broken) {
		const world = makeWorld(t);
		const begun = performance.now();
		const pi = await new StubPi(world, { ports: { loadNative } }).start();
		await pi.prompt("first", () => pi.write("a.txt", "one"));
		assert.ok(performance.now() - begun < 1000);
		assert.equal(read(world, "a.txt"), "one");
		assert.equal(pi.notifications.length, 1);
		assert.deepEqual([...pi.statuses.values()], ["file history: off"]);
	}
});

test("G09: switched off, not even the addon is loaded", async (t) => {
	const world = makeWorld(t);
	let loads = 0;
	const loadNative = () => {
		loads++;
		return world.disk.module();
	};
	const pi = new StubPi(world, { ports: { loadNative } });
	pi.settings["enabled"] = false;
	await pi.start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo");
	await pi.command("redo");
	await pi.quit();
	assert.deepEqual([world.disk.calls, loads], [[], 0]);
});

test("G10: an undo that failed in part says how to get back, and can be repeated", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	const names = Array.from({ length: 10 }, (_, at) => `f${at}`);
	await pi.prompt("first", async () => {
		for (const name of names) await pi.write(name, "one");
	});
	world.disk.failedPaths.add("f7");
	const said = (await pi.command("undo", [/first/, BOTH])).join();
	const point = session(world).points.at(-1);
	assert.equal(point?.kind, "redo-point");
	assert.ok(said.includes(`candy-store restore ${point?.id.slice(0, 12)}`), said);
	assert.equal(point?.contents.get(join(world.cwd, "f7")), "one");
	world.disk.failedPaths.clear();
	await pi.command("undo", [/first/, BOTH]);
	assert.deepEqual(readdirSync(world.cwd), []);
});

test("files are restored while pi's own file tools keep away from each of them", async (t) => {
	const world = makeWorld(t);
	const held: string[] = [];
	const withFileQueue = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
		held.push(path);
		assert.equal(world.disk.count("apply"), 0);
		return work();
	};
	const pi = await new StubPi(world, { ports: { withFileQueue } }).start();
	await pi.prompt("first", async () => {
		await pi.write("b.txt", "one");
		await pi.write("a.txt", "one");
	});
	await pi.command("undo", [/first/, BOTH]);
	assert.deepEqual(
		held,
		["a.txt", "b.txt"].map((name) => join(world.cwd, name)),
	);
	assert.equal(world.disk.count("apply"), 1);
});

test("hand-made changes are restored unless the settings protect them", async (t) => {
	assert.equal(DEFAULT_SETTINGS.protectManualEdits, false);
	const world = makeWorld(t);
	const pi = new StubPi(world);
	pi.settings["protectManualEdits"] = true;
	await pi.start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.command("undo", [/first/, CODE]);
	assert.ok(world.disk.planned.length > 0);
	assert.ok(world.disk.planned.every((options) => options.protectManualEdits === true));
});
