/** What the diff view draws and loads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Texts } from "../src/text/index.ts";
import type { Syntax } from "../src/ui/syntax.ts";
import { atEverySize, file, menuSpec, NASTY, type Opened, open, planOf, settle, skip, WIDTHS } from "./ui-stub.ts";

const hunk = (lines: string[]): string =>
	`--- a/x\n+++ b/x\n@@ -1,${lines.length} +1,${lines.length} @@\n${lines.join("\n")}\n`;

test("the diff view fits every terminal, and nothing but colours reaches it", { skip }, async () => {
	const texts = new Texts("en");
	const evil = [
		"-\x1b]52;c;aGk=\x07\x1b[2J",
		"+\tif \u202e\x9b31m",
		`-${"长".repeat(5000)}`,
		`+${"a\u0301".repeat(300_000)}`,
		" 👨‍👩‍👧\r",
	];
	const view = open(menuSpec(texts, planOf(NASTY), async () => hunk(evil)));
	view.lines();
	view.press("d");
	await settle(view);
	for (const width of WIDTHS) await settle(view, width, 60);
	atEverySize(view, (lines, width, height) => assert.ok(lines.length >= 5, `${width}x${height}`));
	const lines = await settle(view, 80, 60);
	assert.ok(lines.some((line) => line.startsWith(" 1 - ^[]52;c;aGk=^G^[[2J")));
	assert.ok(lines.some((line) => /^ 1 \+ {5}if <U\+202E>�31m *$/.test(line)));
	assert.ok(lines.some((line) => /长… *$/.test(line)));
	assert.ok(lines.some((line) => line.includes(texts.t("diff.binary"))));
	view.press("\x1b[F");
	const end = await settle(view);
	assert.ok(
		end.some((line) => line.includes(texts.t("diff.skip", { reason: "symbolic link" }))),
		end.join("\n"),
	);
});

test("the diff view loads what it shows, in the order of the menu, and Esc goes back to the same choice", {
	skip,
}, async () => {
	const texts = new Texts("en");
	const asked: string[] = [];
	const files = [...Array.from({ length: 40 }, (_, at) => file(`f${at}`)), file("hand", { changedByHand: true })];
	const body = Array.from({ length: 50 }, (_, at) => `+line ${at}`);
	const view = open(
		menuSpec(texts, planOf(files), async (path) => {
			asked.push(path);
			return hunk(body);
		}),
	);
	view.lines();
	view.press("down", "down", "d");
	let lines = await settle(view);
	assert.match(lines[1] ?? "", /^ hand \(\+12 -3\)/);
	assert.deepEqual(asked, ["/work/hand", "/work/f0"]);
	view.press(" ");
	lines = await settle(view);
	assert.match(lines[2] ?? "", /line 14/);
	view.press("n", "\x1b[C", "p");
	lines = await settle(view);
	assert.match(lines[1] ?? "", /^ f0 /);
	assert.match(lines.at(-2) ?? "", /^ File 2\/41 /);
	view.wheel(5);
	lines = await settle(view);
	assert.match(lines[2] ?? "", /line 4/);
	assert.ok(asked.length <= 5, asked.join());
	for (const back of ["cancel", "q", "d"]) {
		view.press(back);
		assert.ok(view.lines().includes("→ Restore code"));
		view.press("d");
	}
	assert.deepEqual(view.chosen, []);
});

test("syntax colours are spread over several drawings, and each line gets them once", { skip }, async () => {
	const texts = new Texts("en");
	const coloured: string[] = [];
	const syntax: Syntax = {
		language: () => "x",
		colour: (line) => {
			coloured.push(line);
			view.clock.now += 2;
			return `\x1b[36m${line}\x1b[39m`;
		},
	};
	const body = Array.from({ length: 10_000 }, (_, at) => `+line ${at}`);
	const view: Opened = open(
		menuSpec(texts, planOf([file("a.ts")]), async () => hunk(body)),
		syntax,
	);
	view.lines();
	view.press("d");
	view.lines();
	await pause(20);
	view.lines();
	assert.ok(coloured.length <= 3, `${coloured.length}`);
	await settle(view);
	const shown = view.lines().filter((line) => line.includes(" + line ")).length;
	assert.equal(coloured.length, shown);
	assert.equal(new Set(coloured).size, shown);
	view.press("down");
	await settle(view);
	assert.equal(coloured.length, shown + 1);
});

test("a diff of line endings alone is said in words", { skip }, async () => {
	const texts = new Texts("en");
	const diffs: Record<string, string[]> = {
		"/work/ends": ["-a\r", "+a"],
		"/work/crlf": [" a\r", "-b\r", "+c\r"],
		"/work/both": ["-a\r", "+b"],
	};
	const files = ["ends", "crlf", "both"].map((name) => file(name));
	const view = open(menuSpec(texts, planOf(files), async (path) => hunk(diffs[path] ?? [])));
	view.lines();
	view.press("d");
	const lines = (await settle(view)).map((line) => line.trim());
	assert.ok(lines.includes("Only the line endings differ: CRLF now, LF after the undo."), lines.join("\n"));
	assert.ok(lines.includes("2 - b") && lines.includes("2 + c"), lines.join("\n"));
	assert.ok(lines.includes("1 - a^M") && lines.includes("1 + b"), lines.join("\n"));
});
