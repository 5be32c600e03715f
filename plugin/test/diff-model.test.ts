import assert from "node:assert/strict";
import { test } from "node:test";
import { DiffModel } from "../src/ui/diff-model.ts";
import { DiffSource } from "../src/ui/diff-source.ts";
import { type ParsedDiff, parseDiff } from "../src/ui/unified-diff.ts";

function parsed(diff: string): ParsedDiff {
	const steps = parseDiff(diff);
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}

/** A model of which every length is known. */
function modelOf(lengths: number[], height: number): DiffModel {
	const model = new DiffModel(lengths.length);
	model.setHeight(height);
	for (const [file, length] of lengths.entries()) model.setLength(file, length);
	return model;
}

/** "h0" is the heading of file 0, "0:3" its fourth line, "" a blank. */
function screen(model: DiffModel): string[] {
	return model.rows().map((row) => {
		if (row.type === "blank") return "";
		return row.type === "heading" ? `h${row.file}` : `${row.file}:${row.line}`;
	});
}

test("a screen begins with the heading of the file that the reader is in", () => {
	const model = modelOf([2, 5], 7);
	assert.deepEqual(screen(model), ["h0", "0:0", "0:1", "", "h1", "1:0", "1:1"]);
	model.scroll(1);
	assert.deepEqual(screen(model), ["h0", "0:1", "", "h1", "1:0", "1:1", "1:2"]);
	model.scroll(1);
	assert.deepEqual(screen(model)[0], "h1");
});

test("paging down shows every line, and paging up brings the same screens back to the start", () => {
	const lengths = [1, 30, 2, 2, 17, 1];
	const model = modelOf(lengths, 9);
	const seen = new Set<string>();
	for (let page = 0; page < 40; page++) {
		for (const row of screen(model)) seen.add(row);
		model.page(1);
	}
	for (const [file, length] of lengths.entries()) {
		for (let line = 0; line < length; line++) assert.ok(seen.has(`${file}:${line}`), `${file}:${line}`);
	}
	for (let page = 0; page < 40; page++) model.page(-1);
	assert.deepEqual(model.top, { file: 0, line: 0 });
});

test("scrolling down stops where the last line is in sight, and a jump to the last file is not taken back", () => {
	const model = modelOf([10, 2], 6);
	for (let step = 0; step < 50; step++) model.scroll(1);
	assert.equal(screen(model).at(-1), "1:1");
	assert.equal(screen(model).length, 6);
	const end = model.top;
	model.end();
	assert.deepEqual(model.top, end);
	model.jump(1);
	assert.deepEqual(model.top, { file: 1, line: 0 });
	model.scroll(1);
	assert.deepEqual(model.top, { file: 1, line: 0 });
	model.page(1);
	assert.deepEqual(screen(model), ["h1", "1:0", "1:1"]);
	model.jump(-1);
	assert.deepEqual(model.top, { file: 0, line: 0 });
	model.scroll(3);
	model.jump(-1);
	assert.deepEqual(model.top, { file: 0, line: 0 });
	model.jump(-1);
	assert.deepEqual(model.top, { file: 0, line: 0 });
});

test("what is shorter than the screen does not scroll", () => {
	const model = modelOf([1, 1], 20);
	for (const move of [() => model.scroll(1), () => model.page(1), () => model.end(), () => model.page(-1)]) move();
	assert.deepEqual(screen(model), ["h0", "0:0", "", "h1", "1:0"]);
});

test("only files in sight and their neighbours are wanted", () => {
	const model = new DiffModel(50);
	model.setHeight(10);
	// One line each until they are known: three lines a file.
	assert.deepEqual(model.wanted(), [0, 1, 2, 3, 4]);
	model.setLength(0, 100);
	assert.deepEqual(model.wanted(), [1]);
	model.setLength(1, 3);
	assert.deepEqual(model.wanted(), []);
	model.scroll(99);
	assert.deepEqual(model.wanted(), [2, 3]);
});

test("who went to the end stays there while files come in above and at the end", () => {
	const model = new DiffModel(3);
	model.setHeight(5);
	model.end();
	model.setLength(2, 40);
	assert.equal(screen(model).at(-1), "2:39");
	model.setLength(0, 7);
	assert.equal(screen(model).at(-1), "2:39");
	model.scroll(-1);
	model.setLength(1, 9);
	assert.equal(screen(model).at(-1), "2:38");
});

test("a file that turns out shorter does not leave the reader below its end", () => {
	const model = modelOf([20], 5);
	model.scroll(12);
	model.setLength(0, 4);
	assert.deepEqual(model.top, { file: 0, line: 3 });
});

test("no files and a screen of one line do no harm", () => {
	const model = new DiffModel(0);
	model.setHeight(0);
	for (const move of [() => model.scroll(1), () => model.page(-1), () => model.end(), () => model.jump(1)]) move();
	assert.deepEqual(screen(model), []);
	assert.deepEqual(model.wanted(), []);
});

const HEAD = "--- a/x\n+++ b/x\n";

test("a diff whose rest was left out ends with that remark", () => {
	const diff = `${HEAD}@@ -1 +1 @@\n-x\n+y\n\\ The rest of this diff is too long to be shown\n`;
	assert.deepEqual(parsed(diff).lines.at(-1), { kind: "cut", text: "", number: 0 });
});

test("a diff is read with the numbers of its lines, whatever the lines look like", () => {
	const diff = `${HEAD}@@ -3,3 +3,4 @@\n same\n--- sql comment\n+++ c\n+@@ -1 +1 @@\n last\n\\ No newline at end of file\n@@ -90 +91 @@\n-x\n+y\n`;
	const { lines, numberMax, onlyLineEndings, mixedEndings } = parsed(diff);
	assert.deepEqual(
		lines.map(({ kind, text, number }) => [kind, text, number]),
		[
			["hunk", "@@ -3,3 +3,4 @@", 3],
			["context", "same", 3],
			["removed", "-- sql comment", 4],
			["added", "++ c", 4],
			["added", "@@ -1 +1 @@", 5],
			["context", "last", 6],
			["noNewline", "", 0],
			["hunk", "@@ -90 +91 @@", 91],
			["removed", "x", 90],
			["added", "y", 91],
		],
	);
	assert.deepEqual([numberMax, onlyLineEndings, mixedEndings], [91, undefined, false]);
	assert.deepEqual(parsed("").lines, []);
});

test("a diff of line endings alone is known as such", () => {
	const hunk = `${HEAD}@@ -1,2 +1,2 @@\n`;
	assert.equal(parsed(`${hunk}-a\r\n-b\r\n+a\n+b\n`).onlyLineEndings, "toLf");
	assert.equal(parsed(`${hunk}-a\n+a\r\n b\r\n`).onlyLineEndings, "toCrlf");
	assert.equal(parsed(`${hunk}-a\n-b\r\n+a\r\n+b\n`).onlyLineEndings, "mixed");
	assert.equal(parsed(`${hunk}-a\r\n-b\r\n+a\n+c\n`).onlyLineEndings, undefined);
	assert.equal(parsed(`${hunk}-a\r\n-b\r\n+a\n+c\n`).mixedEndings, true);
	assert.equal(parsed(`${hunk}-a\r\n+b\r\n`).onlyLineEndings, undefined);
	assert.equal(parsed(`${hunk}-a\r\n+b\r\n`).mixedEndings, false);
	assert.equal(parsed(`${hunk}-a\r\n+a\n+\n`).onlyLineEndings, undefined);
});

test("a large diff is read in steps", () => {
	const steps = parseDiff(`${HEAD}@@ -1 +1,9999 @@\n${"+x\n".repeat(9999)}`);
	let count = 0;
	while (!steps.next().done) count++;
	assert.ok(count >= 19, `${count}`);
});

test("diffs are loaded one after another, and no more once the view is closed", async () => {
	const asked: string[] = [];
	const loaded: number[] = [];
	const labels = {
		loading: "loading",
		empty: "empty",
		noNewline: "",
		cut: "",
		position: () => "",
		failed: (reason: string) => `failed: ${reason}`,
		onlyLineEndings: (how: string) => how,
	};
	const file = (path: string, note?: string) => ({
		path,
		heading: () => ({ text: path, suffix: "" }),
		note: () => note,
	});
	let running = 0;
	const spec = {
		files: [file("a"), file("b", "binary"), file("bad"), file("same"), file("never")],
		help: "",
		labels,
		load: async (path: string) => {
			assert.equal(++running, 1);
			asked.push(path);
			await new Promise((resolve) => setImmediate(resolve));
			running--;
			if (path === "bad") throw new Error("gone");
			return path === "same" ? "" : `${HEAD}@@ -1 +1 @@\n-x\n+y\n`;
		},
	};
	let finish: () => void = () => {};
	const done = new Promise<void>((resolve) => {
		finish = resolve;
	});
	const source: DiffSource = new DiffSource(spec, (at) => {
		loaded.push(at);
		if (at === 3) source.close();
		source.want([at + 1, at + 2]);
		if (at === 3) finish();
	});
	assert.deepEqual(source.body(0).lines, [{ kind: "note", text: "loading" }]);
	source.want([0, 1]);
	source.want([4]);
	await done;
	await new Promise((resolve) => setTimeout(resolve, 5));
	assert.deepEqual(loaded, [0, 1, 2, 3]);
	assert.deepEqual(asked, ["a", "bad", "same"]);
	assert.equal(source.body(0).lines.length, 3);
	const notes = [1, 2, 3].map((at) => source.body(at).lines.map(({ text }) => text));
	assert.deepEqual(notes, [["binary"], ["failed: gone"], ["empty"]]);
});
