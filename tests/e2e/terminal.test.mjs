/** The plugin in pi's terminal interface, with the keyboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { PiTui, tmuxAvailable } from "./harness/tmux-driver.mjs";
import { candySandbox, PiRpc } from "./support.mjs";

const skip = (await tmuxAvailable()) ? false : "tmux is not installed";
const timeout = 120_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Enter in a menu, after the moment in which it cannot have been read and does not count. */
async function confirm(tui) {
	await pause(300);
	await tui.keys("Enter");
}

test("undo and redo with the keyboard", { timeout, skip }, async (t) => {
	const s = await candySandbox(t);
	const tui = await PiTui.start(s);
	await tui.submit("MULTI WRITE a.txt one ;; SAY ready-one");
	await tui.waitFor(/^ *ready-one$/m);
	await tui.submit("MULTI EDIT a.txt one two ;; SAY ready-two");
	await tui.waitFor(/^ *ready-two$/m);
	assert.equal(s.read("a.txt"), "two");

	await tui.submit("/undo");
	await tui.waitFor(/→ 1\. MULTI EDIT a\.txt one two ;; SAY ready-two · 1 file · \+1 -1/);
	await tui.keys("Down");
	await tui.waitFor(/→ 2\. MULTI WRITE a\.txt one/);
	await tui.keys("Up", "Enter");
	const menu = await tui.waitFor(/→ Restore code and conversation/);
	assert.match(menu, /│ “MULTI EDIT a\.txt one two ;; SAY ready-two”/);
	assert.match(menu, /1 file would change:\n\s+a\.txt \(\+1 -1\)/);
	await confirm(tui);
	await tui.waitFor(/1 file restored\./);
	assert.equal(s.read("a.txt"), "one");
	// The card says where the conversation is now, and the undone prompt is back in the editor.
	await tui.waitFor(/↩ Rewound to before “MULTI EDIT a\.txt/);
	await tui.waitFor(/─\nMULTI EDIT a\.txt one two ;; SAY ready-two\n─/);
	await tui.keys("C-u");
	await tui.submit("/redo");
	await tui.waitFor(/1 file put back\./);
	assert.equal(s.read("a.txt"), "two");
	assert.equal(await tui.quit(), true);
});

test("the picker pages, filters, shows wide text and cancels", { timeout, skip }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	for (let turn = 1; turn <= 14; turn++) await pi.prompt(`SAY turn number ${turn}`);
	await pi.prompt(`WRITE 文件.txt 内容 ${"很长的中文提示".repeat(12)} 🍬`);
	await pi.close();

	const tui = await PiTui.start(s, { args: ["--continue"], cols: 80, rows: 30 });
	await tui.submit("/undo");
	const first = await tui.waitFor(/→ 1\. WRITE 文件\.txt .*…/);
	assert.match(first, /12\. SAY turn number 4/);
	assert.doesNotMatch(first, /13\. SAY/);
	assert.match(first, /1 of 15/);
	await tui.keys("Right");
	await tui.waitFor(/→ 13\. SAY turn number 3/);
	await tui.keys("Left");
	await tui.waitFor(/→ 1\. WRITE/);
	await tui.keys("PageDown");
	await tui.waitFor(/→ 13\. SAY/);
	await tui.keys("PageUp");
	await tui.waitFor(/→ 1\. WRITE/);
	await tui.type("number 7");
	const filtered = await tui.waitFor(/Filter: number 7/);
	assert.match(filtered, /→ 9\. SAY turn number 7 · 1 file · \+0 -1/);
	assert.doesNotMatch(filtered, /turn number 8/);
	await tui.keys("BSpace", "BSpace");
	await tui.waitFor(/Filter: number\s*\n/);
	await tui.type("zzz");
	await tui.waitFor(/No message matches/);
	await tui.keys("Enter", "Escape");
	await tui.waitFor(/Rewind to before/, { absent: true });
	assert.equal(s.read("文件.txt").startsWith("内容"), true);

	// A narrow, low terminal still shows the choices.
	await tui.resize(44, 20);
	await tui.submit("/undo");
	await tui.waitFor(/→ 1\. WRITE/);
	await tui.keys("Enter");
	await tui.waitFor(/→ Restore code and conversation/);
	await tui.waitFor(/Never mind/);
	await tui.keys("Escape");
	assert.equal(await tui.quit(), true);
});

test("Enter pressed twice right after /undo writes nothing", { timeout, skip }, async (t) => {
	const s = await candySandbox(t);
	const tui = await PiTui.start(s);
	await tui.submit("MULTI WRITE a.txt one ;; SAY ready-one");
	await tui.waitFor(/^ *ready-one$/m);
	await tui.submit("/undo");
	await tui.waitFor(/→ 1\. MULTI/);
	// In one burst, as from a key that is held down; later presses would count.
	await tui.type("\r".repeat(5));
	await tui.waitFor(/1 file would change:\n\s+a\.txt \(deleted, -1\)/);
	await pause(500);
	await tui.waitFor(/→ Restore code and conversation/);
	assert.equal(s.read("a.txt"), "one");
	await confirm(tui);
	await tui.waitFor(/1 file restored\./);
	assert.equal(s.exists("a.txt"), false);
	assert.equal(await tui.quit(), true);
});

/** Button codes of the SGR mouse protocol. */
const WHEEL_UP = 64;
const WHEEL_DOWN = 65;

async function mouse(tui, button, screenLine) {
	await tui.type(`\x1b[<${button};10;${screenLine + 1}M`);
	if (button === 0) await tui.type(`\x1b[<${button};10;${screenLine + 1}m`);
}

const lineOf = (screen, pattern) => screen.split("\n").findIndex((line) => pattern.test(line));

test("the mouse wheel moves in list and diff, a click chooses", { timeout, skip }, async (t) => {
	const s = await candySandbox(t);
	const pi = await PiRpc.start(s);
	for (let turn = 1; turn <= 4; turn++) await pi.prompt(`SAY turn number ${turn}`);
	await pi.prompt(`WRITE long.txt ${JSON.stringify(Array.from({ length: 60 }, (_, at) => `line ${at}\n`).join(""))}`);
	await pi.close();
	const tui = await PiTui.start(s, { args: ["--continue"], cols: 80, rows: 24 });
	await tui.submit("/undo");
	const at = lineOf(await tui.waitFor(/→ 1\. WRITE long/), /→ 1\./);
	await mouse(tui, WHEEL_DOWN, at);
	await tui.waitFor(/→ 2\. SAY turn number 4/);
	await mouse(tui, WHEEL_UP, at);
	const screen = await tui.waitFor(/→ 1\. WRITE long/);
	await mouse(tui, 0, lineOf(screen, /3\. SAY turn number 3/));
	await tui.waitFor(/│ “SAY turn number 3”/);
	await tui.keys("d");
	const diff = await tui.waitFor(/ 1 - line 0$/m);
	assert.doesNotMatch(diff, /line 20/);
	for (let turn = 0; turn < 4; turn++) await mouse(tui, WHEEL_DOWN, 10);
	await tui.waitFor(/ - line 17$/m);
	await tui.keys("Escape", "Escape");
	assert.equal(await tui.quit(), true);
});

test("the diff view works in pi's regular mode as well, on a wide screen", { timeout, skip }, async (t) => {
	const s = await candySandbox(t, { settings: { tuiMode: "regular" }, files: { "b.py": "def f():\n    return 1\n" } });
	const tui = await PiTui.start(s, { cols: 200, rows: 60 });
	await tui.submit('MULTI EDIT b.py "return 1" "return 2" ;; SAY ready-one');
	await tui.waitFor(/^ *ready-one$/m);
	await tui.submit("/undo");
	await tui.waitFor(/→ 1\. MULTI EDIT b\.py/);
	await tui.keys("Enter");
	await tui.waitFor(/1 file would change:\n\s+b\.py \(\+1 -1\)/);
	await tui.keys("d");
	await tui.waitFor(/ 1 {3}def f\(\):\n 2 - {5}return 2\n 2 \+ {5}return 1\n/);
	await tui.resize(70, 14);
	await tui.waitFor(/^ b\.py \(\+1 -1\)\n @@ -1,2 \+1,2 @@\n 1 {3}def f/m);
	await tui.keys("q");
	await tui.waitFor(/→ Restore code and conversation/);
	await confirm(tui);
	await tui.waitFor(/1 file restored\./);
	assert.equal(s.read("b.py"), "def f():\n    return 1\n");
	assert.equal(await tui.quit(), true);
});
