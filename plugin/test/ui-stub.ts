/** A terminal for the dialogs: keys go in, lines come out. Plans and messages to fill them with. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { type MenuFacts, menuActions, menuTitle } from "../src/menu.ts";
import { diffSpec } from "../src/menu-dialog.ts";
import type { ListSpec } from "../src/ports.ts";
import { cutColumns, PREVIEW_COLUMNS } from "../src/rows.ts";
import type { PlanFile, PlanSummary } from "../src/store.ts";
import { Texts } from "../src/text/index.ts";
import type { Syntax } from "../src/ui/syntax.ts";
import { installed } from "./pi-packages.ts";

export const skip = installed ? false : "pi's packages are not installed (npm ci in tests/e2e)";
export const pi = installed
	? { ...(await import("@earendil-works/pi-tui")), ...(await import("../src/ui/terminal-dialog.ts")) }
	: undefined;

export const WIDTHS = [60, 80, 120, 200];
export const HEIGHTS = [10, 12, 16, 17, 18, 24, 40, 60];
export const LANGUAGES = ["en", "zh"] as const;

/** Colours and nothing else. */
const SGR = /\x1b\[[\d;]*m/g;
const plain = (line: string): string => line.replace(SGR, "").replace("\x1b_pi:c\x07", "");

const KEYS: Record<string, string> = {
	up: "\x1b[A",
	down: "\x1b[B",
	pageUp: "\x1b[5~",
	pageDown: "\x1b[6~",
	confirm: "\r",
	cancel: "\x1b",
};

export interface Opened {
	press(...data: string[]): void;
	wheel(delta: number): void;
	click(line: number): void;
	setLabel(index: number, label: string): void;
	lines(width?: number, height?: number): string[];
	raw(width: number, height: number): string[];
	chosen: (number | undefined)[];
	clock: { now: number };
	renders: number;
}

const NO_SYNTAX: Syntax = { language: () => undefined, colour: () => undefined };

export function open(spec: ListSpec, syntax: Syntax = NO_SYNTAX): Opened {
	assert.ok(pi !== undefined);
	const terminal = { rows: 24 };
	const clock = { now: 0 };
	const chosen: (number | undefined)[] = [];
	let renders = 0;
	const host = {
		tui: { terminal, requestRender: () => renders++ },
		theme: {
			fg: (_colour: string, text: string) => `\x1b[35m${text}\x1b[39m`,
			bg: (_colour: string, text: string) => `\x1b[45m${text}\x1b[49m`,
			bold: (text: string) => `\x1b[1m${text}\x1b[22m`,
		},
		keys: { matches: (data: string, key: string) => KEYS[key.replace("tui.select.", "")] === data },
		now: () => clock.now,
	};
	const dialog = new pi.TerminalDialog(spec, host, syntax, (index) => chosen.push(index));
	dialog.focused = true;
	const raw = (width: number, height: number): string[] => {
		terminal.rows = height;
		return dialog.render(width);
	};
	const mouse = { screenX: 0, screenY: 0, x: 5, width: 80, height: 20, shift: false, alt: false, ctrl: false } as const;
	return {
		press: (...data) => {
			for (const key of data) dialog.handleInput(KEYS[key] ?? key);
		},
		wheel: (wheelDelta) => dialog.handleMouse({ ...mouse, type: "wheel", button: "none", y: 0, wheelDelta }),
		click: (y) => {
			for (const type of ["press", "click"] as const) dialog.handleMouse({ ...mouse, type, button: "left", y });
		},
		setLabel: (index, label) => dialog.list.setLabel(index, label),
		raw,
		lines: (width = 80, height = 24) => raw(width, height).map(plain),
		chosen,
		clock,
		get renders() {
			return renders;
		},
	};
}

export function file(display: string, more: Partial<PlanFile> = {}): PlanFile {
	return {
		path: `/work/${display}`,
		display,
		action: "modify",
		added: 12,
		removed: 3,
		binary: false,
		approximate: false,
		changedByHand: false,
		...more,
	};
}

export const NASTY = [
	file("src/plain.ts"),
	file("made.rs", { action: "delete" }),
	file("gone.rs", { action: "create", changedByHand: true }),
	file(`${"很长的目录名/".repeat(20)}说明.md`),
	file(`${"deep/".repeat(40)}end.txt`, { changedByHand: true }),
	file("esc\x1b[31m\nnew\tline\u202e.txt", { approximate: true }),
	file("pic.png", { binary: true }),
	file("run.sh", { action: "chmod" }),
	file("link", { action: "skip", reason: "symlink" }),
	file("mine.txt", { action: "skip", reason: "changed-by-hand", changedByHand: true }),
	file("👨‍👩‍👧".repeat(60)),
];

export function planOf(files: PlanFile[]): PlanSummary {
	const changed = files.filter(({ action }) => action !== "skip").length;
	return { planId: 7, files, changed, added: 1, removed: 1, linksSkipped: 0, otherSkipped: 0, fallback: true };
}

export function factsOf(plan: PlanSummary, text = "改成 🍬 please"): MenuFacts {
	const preview = cutColumns(text, PREVIEW_COLUMNS, pi?.visibleWidth ?? ((one) => one.length));
	const entry = { type: "message", id: "e1", parentId: null, timestamp: new Date(0).toISOString() };
	const row = { number: 1, entry, text, preview, hasPoint: true, gaps: [] };
	return { row, plan, gaps: ["bash", "tool:mcp_write"], now: 60_000 };
}

function labels(texts: Texts): ListSpec["labels"] {
	return {
		position: (at, total) => texts.t("picker.position", { at, total }),
		positionShort: (at, total) => texts.t("picker.positionShort", { at, total }),
		filter: (text) => texts.t("picker.filter", { text }),
		noMatch: texts.t("picker.noMatch"),
		tooSoon: texts.t("menu.tooSoon"),
	};
}

export function menuSpec(
	texts: Texts,
	plan: PlanSummary,
	diff: (path: string) => Promise<string> = async () => "",
): ListSpec {
	const session = { diff: (_plan: number, path: string) => diff(path) };
	return {
		title: menuTitle(texts, factsOf(plan)),
		items: menuActions(plan).map((action) => ({ label: texts.t(`menu.${action}`) })),
		help: texts.t("menu.help"),
		kind: "actions",
		labels: labels(texts),
		diff: diffSpec({ texts, session: session as unknown as Parameters<typeof diffSpec>[0]["session"] }, plan),
	};
}

export function pickerSpec(texts: Texts, messages: string[], suffix = " · 12 files · +1,204 -310"): ListSpec {
	return {
		title: {
			head: [{ text: texts.t("picker.title") }],
			details: [],
			more: String,
			tail: [{ text: "", kind: "blank" }],
		},
		items: messages.map((text, at) => ({
			label: `${at + 1}. ${text}${suffix}`,
			cut: `${at + 1}. ${text}`,
			search: text,
		})),
		help: texts.t("picker.help"),
		kind: "messages",
		labels: labels(texts),
	};
}

/** Draws at every size, and looks at every line. */
export function atEverySize(opened: Opened, check: (lines: string[], width: number, height: number) => void): void {
	for (const width of WIDTHS) {
		for (const height of HEIGHTS) {
			const raw = opened.raw(width, height);
			const what = `${width}x${height}`;
			for (const line of raw) {
				assert.ok((pi?.visibleWidth(line) ?? 0) <= width, `${what}: ${JSON.stringify(line)}`);
				assert.doesNotMatch(plain(line), /[\p{Cc}\u202e]/u, what);
			}
			// The footer of pi, and something of the transcript.
			assert.ok(raw.length <= height - 3, `${what}: ${raw.length} lines`);
			check(raw.map(plain), width, height);
		}
	}
}

/** Draws until nothing new comes. */
export async function settle(opened: Opened, width = 80, height = 24): Promise<string[]> {
	let before = -1;
	while (opened.renders !== before) {
		before = opened.renders;
		opened.lines(width, height);
		await pause(2);
	}
	return opened.lines(width, height);
}
