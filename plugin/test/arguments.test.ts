import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { completeArguments, parseArguments } from "../src/arguments.ts";
import { makeWorld, StubPi } from "./stub-pi.ts";

test("a number names a row, a word an entry of the menu, in any order", () => {
	assert.deepEqual(parseArguments(""), {});
	assert.deepEqual(parseArguments("  3 "), { number: 3 });
	assert.deepEqual(parseArguments("--code"), { action: "code" });
	assert.deepEqual(parseArguments("2 --both"), { number: 2, action: "both" });
	assert.deepEqual(parseArguments("--conversation 12"), { number: 12, action: "conversation" });
	assert.deepEqual(parseArguments("--summarize"), { action: "summarize" });
});

test("words that mean nothing, or contradict another, are named", () => {
	for (const [args, word] of [
		["0", "0"],
		["-1", "-1"],
		["1.5", "1.5"],
		["99999999", "99999999"],
		["2 3", "3"],
		["--code --both", "--both"],
		["code", "code"],
		["--constructor", "--constructor"],
		["2 --all", "--all"],
	] as const) {
		assert.deepEqual(parseArguments(args), { unknown: word }, args);
	}
});

test("completions offer messages first, then what to take back, and only what still fits", () => {
	const texts = { messages: ["newest", "older"], action: (action: string) => `does ${action}` };
	const values = (typed: string) => completeArguments(typed, texts)?.map(({ value }) => value);
	assert.deepEqual(values(""), ["1", "2", "--both", "--code", "--conversation", "--summarize"]);
	assert.deepEqual(values("2"), ["2"]);
	assert.deepEqual(values("2 "), ["2 --both", "2 --code", "2 --conversation", "2 --summarize"]);
	assert.deepEqual(values("2 --co"), ["2 --code", "2 --conversation"]);
	assert.equal(values("2 --code "), undefined);
	assert.equal(values("what "), undefined);
	assert.equal(completeArguments("", texts)?.[0]?.description, "newest");
});

test("with arguments the command asks nothing", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.prompt("second", () => pi.write("a.txt", "two"));
	assert.deepEqual(await pi.command("undo --code"), ["1 file restored."]);
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one");
	assert.match((await pi.command("undo 2 --both"))[0] ?? "", /1 file restored/);
	assert.ok(!existsSync(join(world.cwd, "a.txt")));
	assert.deepEqual(pi.dialogs, []);
});

test("a number alone still shows the menu with what would happen", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	await pi.prompt("second");
	await pi.command("undo 2", [/Never mind/]);
	assert.equal(pi.dialogs.length, 1);
	assert.match(pi.dialogs[0]?.title ?? "", /first/);
});

test("a row that is not there and a word that is not known change nothing", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("first", () => pi.write("a.txt", "one"));
	assert.deepEqual(await pi.command("undo 2 --code"), ["There is no message 2; the list goes from 1 to 1."]);
	assert.match((await pi.command("undo everything"))[0] ?? "", /“everything”/);
	assert.equal(readFileSync(join(world.cwd, "a.txt"), "utf8"), "one");
});

test("the terminal completes the numbers of messages with their text", async (t) => {
	const pi = await new StubPi(makeWorld(t)).start();
	await pi.prompt("first thing");
	await pi.prompt("second thing");
	const items = pi.commands.get("undo")?.getArgumentCompletions?.("");
	assert.deepEqual(items?.slice(0, 2).map(({ label, description }) => [label, description]), [
		["1", "second thing"],
		["2", "first thing"],
	]);
});
