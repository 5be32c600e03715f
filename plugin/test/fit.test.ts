import assert from "node:assert/strict";
import { test } from "node:test";
import type { ListTitle } from "../src/ports.ts";
import { ConfirmGuard } from "../src/ui/confirm-guard.ts";
import { cutStart, fitPiece, fitTitle } from "../src/ui/fit.ts";
import { dialogSpace, listLayout } from "../src/ui/list-layout.ts";
import { ListModel } from "../src/ui/list-model.ts";
import { visibleText } from "../src/ui/visible-text.ts";

const columns = (text: string): number => [...new Intl.Segmenter().segment(text)].length;
const wrap = (text: string, width: number): string[] => text.match(new RegExp(`.{1,${width}}`, "gu")) ?? [""];

test("what a terminal would obey, and what nobody could see, is shown instead", () => {
	const shown = (text: string): string => visibleText(text, columns);
	assert.equal(shown("\x1b[31mred\x1b]0;title\x07"), "^[[31mred^[]0;title^G");
	assert.equal(shown("a\rb\nc\x7fd\x9b2J"), "a^Mb^Jc^?d�2J");
	assert.equal(shown("\0\ud800x"), "^@�x");
	assert.equal(shown("if \u202e} // admin\ufeff\u200b"), "if <U+202E>} // admin<U+FEFF><U+200B>");
	assert.equal(shown("a\tb\t\tc"), "a   b       c");
	assert.equal(shown("\t\x1b\tx"), "    ^[  x");
	for (const text of ["👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️", "नमस्ते क्‍ष", "é", "中文 (、)"]) assert.equal(shown(text), text);
});

test("the text gives way and the counts stay, down to the last columns", () => {
	const piece = { text: "1. a long message about many things", suffix: " · 12 files · +10 -2" };
	assert.equal(fitPiece(piece, 80, columns), piece.text + piece.suffix);
	assert.equal(fitPiece(piece, 40, columns), "1. a long message a… · 12 files · +10 -2");
	assert.equal(fitPiece(piece, 20, columns), "1. a long m… · 12 f…");
	for (let width = 1; width < 60; width++) assert.ok(columns(fitPiece(piece, width, columns)) <= width);
	assert.equal(cutStart("src/deep/down/file.ts", 12, columns), "…own/file.ts");
	const path = { text: "a/very/long/way/to/it.rs", suffix: " (+1 -2)", cut: "start" as const };
	assert.equal(fitPiece(path, 22, columns), "…/way/to/it.rs (+1 -2)");
});

test("a title gives up blanks, then details, then what is known anyway, and never how many there are", () => {
	const title: ListTitle = {
		head: [
			{ text: "Title", kind: "heading" },
			{ text: "", kind: "blank" },
			{ text: "quote", kind: "quote" },
			{ text: "time", kind: "time" },
			{ text: "9 files:" },
		],
		details: Array.from({ length: 9 }, (_, at) => () => ({ text: `f${at}`, suffix: "" })),
		more: (hidden) => `${hidden} more`,
		tail: [
			{ text: "", kind: "blank" },
			{ text: "note", kind: "note" },
		],
	};
	const fit = (room: number, dense = false): string[] => fitTitle(title, { width: 40, room, dense, columns, wrap });
	assert.equal(fit(16).length, 16);
	assert.equal(fit(16, true).length, 14);
	assert.deepEqual(fit(14).slice(-2), ["  f8", "note"]);
	assert.deepEqual(fit(9), ["Title", "quote", "time", "9 files:", "  f0", "  f1", "  f2", "  6 more", "note"]);
	assert.deepEqual(fit(8).at(-1), "  6 more");
	assert.deepEqual(fit(5), ["9 files:", "  f0", "  f1", "  f2", "  6 more"]);
	assert.deepEqual(fit(4), ["9 files:", "  f0", "  f1", "  7 more"]);
	assert.deepEqual(fit(3), ["9 files:", "  f0", "  8 more"]);
	assert.deepEqual(fit(1), ["9 files:"]);
	const warned = {
		...title,
		tail: [
			{ text: "old ".repeat(20), kind: "fallback" as const },
			{ text: "bash", kind: "gaps" as const },
		],
	};
	const low = (room: number): string[] => fitTitle(warned, { width: 40, room, dense: true, columns, wrap });
	assert.deepEqual(low(5), ["9 files:", "  f0", "  8 more", `${"old ".repeat(9)}old…`, "bash"]);
	assert.deepEqual(low(4), ["9 files:", "  f0", "  8 more", `${"old ".repeat(9)}old…`]);
	assert.deepEqual(low(3), ["9 files:", "  f0", "  8 more"]);
	for (let room = 1; room < 20; room++) assert.ok(fit(room).includes("9 files:") && fit(room).length <= room);
});

test("the choices of a menu stay on the screen on every terminal of ten rows and more", () => {
	for (let rows = 10; rows <= 60; rows++) {
		const space = dialogSpace(rows);
		const frame = space.low ? 1 : 4;
		for (const items of [3, 4, 6, 100]) {
			const layout = listLayout(space, items, frame);
			const page = layout.page(layout.titleRoom);
			assert.ok(page >= Math.min(items, 3), `${rows} rows, ${items} items: ${page}`);
			assert.ok(page <= 12);
			if (rows >= 16) assert.ok(page >= Math.min(items, 6), `${rows} rows, ${items} items: ${page}`);
			assert.ok(layout.titleRoom >= 2);
			assert.ok(layout.titleRoom + Math.min(page, items) + frame <= space.lines, `${rows} rows, ${items} items`);
		}
	}
});

test("a confirmation counts only after a moment in sight, and a key held down never does", () => {
	let now = 1000;
	const guard = new ConfirmGuard(() => now);
	assert.equal(guard.allows(), false);
	guard.shown();
	assert.equal(guard.allows(), false);
	for (let press = 0; press < 50; press++) {
		now += 33;
		guard.shown();
		assert.equal(guard.allows(), false);
	}
	now += 250;
	assert.equal(guard.allows(), true);
	guard.hidden();
	now += 10_000;
	guard.shown();
	assert.equal(guard.allows(), false);
});

test("the selection stays on its message while counts come in, filtered or not", () => {
	const items = Array.from({ length: 40 }, (_, at) => {
		const cut = `${at}. text`;
		return { label: `${cut} …`, cut, search: `text ${at % 2}` };
	});
	const list = new ListModel(items);
	list.setFilter("text 1");
	list.move(1);
	list.move(1);
	assert.equal(list.selected, 5);
	for (let at = 0; at < 40; at++) list.setLabel(at, `${at}. text · ${at} files`);
	assert.equal(list.selected, 5);
	assert.deepEqual(list.visible(12)[2], { index: 5, text: "5. text", suffix: " · 5 files", selected: true });
	list.setFilter("");
	assert.equal(list.selected, 5);
	list.wheel(3);
	assert.equal(list.selected, 8);
	list.wheel(-100);
	assert.equal(list.selected, 0);
	assert.equal(list.selectVisible(12, 12), false);
	assert.equal(list.selectVisible(11, 12), true);
	assert.equal(list.selected, 11);
});
