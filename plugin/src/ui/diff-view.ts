/** The diff view of the terminal. Draws what is in sight and nothing else, however large the diffs are. */
import {
	type Component,
	matchesKey,
	type TuiMouseEvent,
	type TuiMouseEventResult,
	truncateToWidth,
	visibleWidth,
} from "@earendil-works/pi-tui";
import type { DiffSpec } from "../ports.ts";
import { cutColumns } from "../rows.ts";
import { DiffModel, type DiffRow } from "./diff-model.ts";
import { type Body, DiffSource, type NoteLine } from "./diff-source.ts";
import { fitPiece } from "./fit.ts";
import type { DialogHost } from "./list-dialog.ts";
import { dialogSpace } from "./list-layout.ts";
import type { Syntax } from "./syntax.ts";
import type { DiffLine } from "./unified-diff.ts";
import { visibleText } from "./visible-text.ts";

/** Two borders and the help. */
const FRAME_LINES = 3;
const FRAME_LINES_LOW = 1;

/** Characters of a line that are looked at for each column of the screen: enough for any mixture of accents. */
const CHARACTERS_PER_COLUMN = 8;

/** Time that one drawing may spend on syntax colours. The other lines get theirs in the next one. */
const COLOUR_BUDGET_MS = 4;

/** Changed lines get the colours that pi gives to the boxes of its tools. */
function hasBackground({ theme }: DialogHost): boolean {
	return /\x1b\[(4[0-8]|10[0-7])[;m]/.test(theme.bg("toolSuccessBg", " "));
}

interface Colours {
	/** When to stop, in the host's time; one line is coloured in any case. */
	until: number;
	coloured: number;
	missing: boolean;
}

interface Drawn {
	width: number;
	text: string;
}

export class DiffView implements Component {
	readonly capturesViewportInput = true;
	readonly #spec: DiffSpec;
	readonly #host: DialogHost;
	readonly #syntax: Syntax;
	readonly #close: () => void;
	readonly #model: DiffModel;
	readonly #source: DiffSource;
	#drawn = new WeakMap<DiffLine | NoteLine, Drawn>();
	/** Whether the theme gives changed lines a background; without one their text says by its colour what they are. */
	#tinted: boolean;

	constructor(spec: DiffSpec, host: DialogHost, syntax: Syntax, close: () => void) {
		this.#spec = spec;
		this.#host = host;
		this.#syntax = syntax;
		this.#close = close;
		this.#tinted = hasBackground(host);
		this.#model = new DiffModel(spec.files.length);
		this.#source = new DiffSource(spec, (file, lines) => {
			this.#model.setLength(file, lines);
			host.tui.requestRender();
		});
	}

	/** After this nothing is loaded any more. */
	dispose(): void {
		this.#source.close();
	}

	/** The theme may be another one now. */
	invalidate(): void {
		this.#drawn = new WeakMap();
		this.#tinted = hasBackground(this.#host);
	}

	handleInput(data: string): void {
		const { keys, tui } = this.#host;
		const model = this.#model;
		const pressed = (...names: Parameters<typeof matchesKey>[1][]): boolean =>
			names.some((name) => matchesKey(data, name));
		if (keys.matches(data, "tui.select.cancel") || pressed("q", "d")) return this.#close();
		if (keys.matches(data, "tui.select.up")) model.scroll(-1);
		else if (keys.matches(data, "tui.select.down")) model.scroll(1);
		else if (keys.matches(data, "tui.select.pageUp") || pressed("shift+space")) model.page(-1);
		else if (keys.matches(data, "tui.select.pageDown") || pressed("space")) model.page(1);
		else if (pressed("home")) model.home();
		else if (pressed("end")) model.end();
		else if (pressed("n", "right")) model.jump(1);
		else if (pressed("p", "left")) model.jump(-1);
		else return;
		tui.requestRender();
	}

	handleMouse(event: TuiMouseEvent): TuiMouseEventResult | undefined {
		if (event.type !== "wheel" || !event.wheelDelta) return undefined;
		this.#model.scroll(event.wheelDelta);
		return { handled: true };
	}

	render(width: number): string[] {
		const { theme, tui } = this.#host;
		const space = dialogSpace(tui.terminal.rows);
		const border = space.low ? [] : [theme.fg("border", "─".repeat(width))];
		const room = space.lines - (space.low ? FRAME_LINES_LOW : FRAME_LINES);
		this.#model.setHeight(room);
		this.#source.want(this.#model.wanted());
		const colours: Colours = { until: this.#host.now() + COLOUR_BUDGET_MS, coloured: 0, missing: false };
		const rows = this.#model.rows().map((row) => this.#row(row, width, colours));
		// The frame stays where it is while short files are passing by.
		while (rows.length < room) rows.push("");
		if (colours.missing) setImmediate(() => tui.requestRender());
		const { top, files } = this.#model;
		const help = ` ${this.#spec.labels.position(top.file + 1, files)} · ${this.#spec.help}`;
		const lines = [...border, ...rows, theme.fg("dim", help), ...border];
		return lines.map((line) => truncateToWidth(line, width, "…"));
	}

	#row(row: DiffRow, width: number, colours: Colours): string {
		if (row.type === "blank") return "";
		const { theme } = this.#host;
		const file = this.#spec.files[row.file];
		if (file === undefined) return "";
		if (row.type === "heading") {
			return theme.fg("accent", theme.bold(` ${fitPiece(file.heading(), width - 1, visibleWidth)}`));
		}
		const body = this.#source.body(row.file);
		const line = body.lines[row.line];
		if (line === undefined) return "";
		const known = this.#drawn.get(line);
		if (known?.width === width) return known.text;
		if (line.kind === "note") return theme.fg("muted", `   ${visibleText(line.text, visibleWidth)}`);
		const language = this.#syntax.language(file.path);
		const late = language !== undefined && colours.coloured > 0 && this.#host.now() >= colours.until;
		if (late) colours.missing = true;
		else if (language !== undefined) colours.coloured++;
		const text = this.#line(line, body, width, late ? undefined : language);
		if (!late) this.#drawn.set(line, { width, text });
		return text;
	}

	#line(line: DiffLine, body: Body, width: number, language: string | undefined): string {
		const { theme } = this.#host;
		const { noNewline, cut } = this.#spec.labels;
		if (line.kind === "hunk") return theme.fg("dim", ` ${line.text}`);
		const gutter = String(body.numberMax).length;
		if (line.kind === "cut") return theme.fg("dim", `${" ".repeat(gutter + 4)}${cut}`);
		if (line.kind === "noNewline") return theme.fg("dim", `${" ".repeat(gutter + 4)}${noNewline}`);
		const sign = { context: " ", added: "+", removed: "-" }[line.kind];
		const colour = { context: "toolDiffContext", added: "toolDiffAdded", removed: "toolDiffRemoved" } as const;
		const head = ` ${String(line.number).padStart(gutter)} ${sign} `;
		const room = Math.max(width - head.length, 1);
		const text = this.#visible(line.text, body.showCr, room);
		// On a background of its own a line needs no colour of its own.
		const tinted = line.kind !== "context" && this.#tinted;
		const plain = tinted ? text : theme.fg(colour[line.kind], text);
		const syntax = tinted || line.kind === "context" ? language : undefined;
		const coloured = syntax === undefined ? undefined : this.#syntax.colour(text, syntax);
		const drawn = `${theme.fg(colour[line.kind], head)}${coloured ?? plain}`;
		if (line.kind === "context") return drawn;
		const padding = " ".repeat(Math.max(room - visibleWidth(text), 0));
		return theme.bg(line.kind === "added" ? "toolSuccessBg" : "toolErrorBg", drawn + padding);
	}

	/** A line as it may be shown: without its end, safe, cut to the room. */
	#visible(text: string, showCr: boolean, room: number): string {
		const charactersMax = room * CHARACTERS_PER_COLUMN;
		const long = text.length > charactersMax;
		const bare = !showCr && text.endsWith("\r") ? text.slice(0, -1) : text;
		const safe = visibleText(long ? bare.slice(0, charactersMax) : bare, visibleWidth);
		return cutColumns(long ? `${safe}…` : safe, room, visibleWidth);
	}
}
