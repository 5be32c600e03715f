/** The list dialog of the terminal: used for the messages and for the menu. */
import type { ExtensionCommandContext, Theme } from "@earendil-works/pi-coding-agent";
import {
	type Component,
	CURSOR_MARKER,
	decodeKittyPrintable,
	type Focusable,
	matchesKey,
	type TUI,
	truncateToWidth,
	wrapTextWithAnsi,
} from "@earendil-works/pi-tui";
import type { ListSpec } from "../ports.ts";
import { ListModel } from "./list-model.ts";

const PAGE_ROWS_MAX = 12;
/** Lines of the dialog besides title and rows: two borders, a blank, position, help. */
const FRAME_LINES = 5;
/** What stays visible outside of it: pi's footer, and a little of the transcript. */
const OUTSIDE_LINES = 4;
/** Rows that a tall title must leave room for. */
const ROWS_MIN = 6;

type SelectKey = "up" | "down" | "pageUp" | "pageDown" | "confirm" | "cancel";

interface Keys {
	matches(data: string, keybinding: `tui.select.${SelectKey}`): boolean;
}

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";

/** The pasted text on one line; undefined for anything but a paste. */
function pastedText(data: string): string | undefined {
	return data.startsWith(PASTE_START)
		? data.slice(PASTE_START.length).replace(PASTE_END, "").replace(/\s+/g, " ")
		: undefined;
}

/** Text that a key or a paste puts into the filter; undefined for keys that are no text. */
function typedText(data: string): string | undefined {
	const line = pastedText(data) ?? decodeKittyPrintable?.(data) ?? data;
	return line === "" || /\p{Cc}/u.test(line) ? undefined : line;
}

class ListDialog implements Component, Focusable {
	/** Page keys are for this list, not for the transcript behind it. */
	readonly capturesViewportInput = true;
	focused = false;
	readonly #model: ListModel;
	readonly #spec: ListSpec;
	readonly #tui: TUI;
	readonly #theme: Theme;
	readonly #keys: Keys;
	readonly #close: (chosen: number | undefined) => void;
	/** Columns of the last drawing; page keys need to know how many rows it left. */
	#width = 80;

	constructor(spec: ListSpec, tui: TUI, theme: Theme, keys: Keys, close: (chosen: number | undefined) => void) {
		this.#spec = spec;
		this.#tui = tui;
		this.#theme = theme;
		this.#keys = keys;
		this.#close = close;
		this.#model = new ListModel(spec.items);
	}

	setLabel(index: number, label: string): void {
		this.#model.setLabel(index, label);
		this.#tui.requestRender();
	}

	invalidate(): void {}

	handleInput(data: string): void {
		if (this.#keys.matches(data, "tui.select.cancel")) this.#close(undefined);
		else if (this.#keys.matches(data, "tui.select.confirm")) {
			if (this.#model.selected !== undefined) this.#close(this.#model.selected);
		} else this.#edit(data);
	}

	#edit(data: string): void {
		const model = this.#model;
		if (this.#keys.matches(data, "tui.select.up")) model.move(-1);
		else if (this.#keys.matches(data, "tui.select.down")) model.move(1);
		else if (this.#keys.matches(data, "tui.select.pageUp") || matchesKey(data, "left"))
			model.page(-1, this.#pageSize());
		else if (this.#keys.matches(data, "tui.select.pageDown") || matchesKey(data, "right")) {
			model.page(1, this.#pageSize());
		} else if (matchesKey(data, "backspace")) model.eraseOne();
		else if (matchesKey(data, "ctrl+u")) model.setFilter("");
		else {
			const text = typedText(data);
			if (text !== undefined) model.setFilter(model.filter + text);
		}
		this.#tui.requestRender();
	}

	render(width: number): string[] {
		const theme = this.#theme;
		const border = theme.fg("border", "─".repeat(width));
		this.#width = width;
		const [heading = "", ...rest] = this.#titleLines();
		const lines = [border, theme.fg("accent", theme.bold(` ${heading}`)), ...rest.map((line) => ` ${line}`), ""];
		for (const row of this.#model.visible(this.#pageSize())) {
			lines.push(row.selected ? theme.fg("accent", `→ ${row.label}`) : `  ${row.label}`);
		}
		if (this.#model.matchCount === 0) lines.push(theme.fg("muted", `  ${this.#spec.labels.noMatch}`));
		lines.push(this.#statusLine(), theme.fg("dim", ` ${this.#spec.help}`), border);
		return lines.map((line) => truncateToWidth(line, width, "…"));
	}

	#statusLine(): string {
		const { position, matchCount, filter } = this.#model;
		const { labels } = this.#spec;
		const place = matchCount > this.#pageSize() || filter !== "" ? labels.position(position, matchCount) : "";
		const cursor = this.focused ? CURSOR_MARKER : "";
		const typed = filter === "" ? cursor : `${labels.filter(filter)}${cursor}`;
		return this.#theme.fg("muted", ` ${[place, typed].filter(Boolean).join("   ")}`);
	}

	/** A title taller than the screen would push the choices out of it: blank lines go first, then the end. */
	#titleLines(): string[] {
		const lines = this.#spec.title
			.split("\n")
			.flatMap((line) => wrapTextWithAnsi(line, Math.max(1, this.#width - 1)));
		const rows = Math.min(this.#spec.items.length, ROWS_MIN);
		const room = Math.max(3, this.#tui.terminal.rows - FRAME_LINES - OUTSIDE_LINES - rows);
		if (lines.length <= room) return lines;
		const dense = lines.filter((line) => line !== "");
		return dense.length <= room ? dense : [...dense.slice(0, room - 1), "…"];
	}

	#pageSize(): number {
		const room = this.#tui.terminal.rows - FRAME_LINES - OUTSIDE_LINES - this.#titleLines().length;
		return Math.max(3, Math.min(PAGE_ROWS_MAX, room));
	}
}

/** Shows the list and resolves with the chosen index, or undefined. */
export async function chooseInTerminal(ctx: ExtensionCommandContext, spec: ListSpec): Promise<number | undefined> {
	const closed = new AbortController();
	try {
		return await ctx.ui.custom<number | undefined>((tui, theme, keybindings, done) => {
			const dialog = new ListDialog(spec, tui, theme, keybindings, done);
			void spec.fill?.((index, label) => dialog.setLabel(index, label), closed.signal).catch(() => {});
			return dialog;
		});
	} finally {
		closed.abort();
	}
}
