import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { namedPaths } from "../src/paths.ts";
import { makeWorld, StubPi } from "./stub-pi.ts";

const named = (command: string) => namedPaths(command, { cwd: "/w", home: "/home/u", platform: "linux" });

test("a shell command names the files among its words, quoted or not", () => {
	assert.deepEqual(named("rm cfg.toml"), ["/w/rm", "/w/cfg.toml"]);
	assert.deepEqual(named("rm -rf -- 'a b.md' \"中文.txt\""), ["/w/rm", "/w/a b.md", "/w/中文.txt"]);
	assert.deepEqual(named("cat <in.txt>out.txt;mv ~/x ../y&&ls"), [
		...["/w/cat", "/w/in.txt", "/w/out.txt", "/w/mv"],
		...["/home/u/x", "/y", "/w/ls"],
	]);
	assert.deepEqual(named(""), []);
});

test("a long script is looked at as far as its first words", () => {
	const words = Array.from({ length: 500 }, (_, at) => `word${at}`).join(" ");
	assert.equal(named(words).length, 64);
	assert.deepEqual(named("echo 'a\nb'"), ["/w/echo"]);
});

test("files that a shell command names are remembered before it runs, the user's own commands included", async (t) => {
	const world = makeWorld(t);
	const pi = await new StubPi(world).start();
	await pi.prompt("work", async () => {
		await pi.emit("tool_call", { toolName: "bash", toolCallId: "c", input: { command: "rm cfg.toml" } });
	});
	assert.ok(world.disk.glimpsed.includes(join(world.cwd, "cfg.toml")));
	await pi.emit("user_bash", { command: "rm other.toml" });
	assert.ok(world.disk.glimpsed.includes(join(world.cwd, "other.toml")));
});
