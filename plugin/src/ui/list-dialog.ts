/** The list dialog of the terminal: used for the messages and for the menu. */
import type { Theme } from "@earendil-works/pi-coding-agent";
import {
	type Component,
	CURSOR_MARKER,
	type Focusable,
	matchesKey,
	type TUI,
	type TuiMouseEvent,
	type TuiMouseEventResult,
	truncateToWidth,
	visibleWidth,
	wrapTextWithAnsi,
} from "@earendil-works/pi-tui";
import type { ListSpec } from "../ports.ts";
import { ConfirmGuard } from "./confirm-guard.ts";
import { cutStart, fitPiece, fitTitle } from "./fit.ts";
import { type Keys, typedText } from "./keys.ts";
import { dialogSpace, listLayout } from "./list-layout.ts";
import { ListModel } from "./list-model.ts";
import { visibleText } from "./visible-text.ts";

/** Two borders, position, help. */
const FRAME_LINES = 4;
/** Position and help share a line. */
const FRAME_LINES_LOW = 1;

export interface DialogHost {
	tui: Pick<TUI, "requestRender"> & { readonly terminal: { readonly rows: number } };
	theme: Pick<Theme, "fg" | "bg" | "bold">;
	keys: Keys;
	/** Milliseconds of a clock that only runs forward. */
	now(): number;
}

export interface ListEvents {
	close(chosen: number | undefined): void;
	openDiff(): void;
}

interface Layout {
	low: boolean;
	title: string[];
	page: number;
}

export class ListDialog implements Component, Focusable {
	/** Page keys are for this list, not for the transcript behind it. */
	readonly capturesViewportInput = true;
	focused = false;
	readonly #model: ListModel;
	readonly #spec: ListSpec;
	readonly #host: DialogHost;
	readonly #events: ListEvents;
	readonly #guard: ConfirmGuard;
	#tooSoon = false;
	/** Columns of the last drawing; page keys need to know how many rows it left. */
	#width = 80;
	/** Line of the last drawing that holds the first row. */
	#firstRow = 0;

	constructor(spec: ListSpec, host: DialogHost, events: ListEvents) {
		this.#spec = spec;
		this.#host = host;
		this.#events = events;
		this.#model = new ListModel(spec.items);
		this.#guard = new ConfirmGuard(host.now);
	}

	setLabel(index: number, label: string): void {
		this.#model.setLabel(index, label);
		this.#host.tui.requestRender();
	}

	invalidate(): void {}

	handleInput(data: string): void {
		const { keys, tui } = this.#host;
		if (keys.matches(data, "tui.select.cancel")) return this.#events.close(undefined);
		if (keys.matches(data, "tui.select.confirm")) this.#confirm();
		else {
			this.#tooSoon = false;
			this.#edit(data);
		}
		tui.requestRender();
	}

	#confirm(): void {
		const { selected } = this.#model;
		if (selected === undefined) return;
		this.#tooSoon = this.#spec.kind === "actions" && !this.#guard.allows();
		if (!this.#tooSoon) this.#events.close(selected);
	}

	#edit(data: string): void {
		const model = this.#model;
		const { keys } = this.#host;
		const page = (step: 1 | -1): void => model.page(step, this.#layout().page);
		if (keys.matches(data, "tui.select.up")) model.move(-1);
		else if (keys.matches(data, "tui.select.down")) model.move(1);
		else if (keys.matches(data, "tui.select.pageUp") || matchesKey(data, "left")) page(-1);
		else if (keys.matches(data, "tui.select.pageDown") || matchesKey(data, "right")) page(1);
		else if (this.#spec.kind === "messages") this.#editFilter(data);
		else if (this.#spec.diff !== undefined && matchesKey(data, "d")) {
			this.#guard.hidden();
			this.#events.openDiff();
		}
	}

	#editFilter(data: string): void {
		const model = this.#model;
		if (matchesKey(data, "backspace")) model.eraseOne();
		else if (matchesKey(data, "ctrl+u")) model.setFilter("");
		else {
			const text = typedText(data);
			if (text !== undefined) model.setFilter(model.filter + text);
		}
	}

	handleMouse(event: TuiMouseEvent): TuiMouseEventResult | undefined {
		const model = this.#model;
		if (event.type === "wheel" && event.wheelDelta) {
			const before = model.selected;
			model.wheel(event.wheelDelta < 0 ? -1 : 1);
			return { handled: true, render: model.selected !== before };
		}
		if (event.button !== "left" || (event.type !== "press" && event.type !== "click")) return undefined;
		if (!model.selectVisible(event.y - this.#firstRow, this.#layout().page)) return undefined;
		// As in pi's own lists: pressing selects, letting go chooses.
		if (event.type === "click") this.#confirm();
		return { handled: true, focus: true };
	}

	render(width: number): string[] {
		const { theme } = this.#host;
		this.#width = width;
		this.#guard.shown();
		const { low, title, page } = this.#layout();
		const border = low ? [] : [theme.fg("border", "─".repeat(width))];
		const [heading = "", ...rest] = title;
		const lines = [...border, theme.fg("accent", theme.bold(` ${heading}`)), ...rest.map((line) => ` ${line}`)];
		this.#firstRow = lines.length;
		for (const row of this.#model.visible(page)) {
			const text = fitPiece(row, width - 2, visibleWidth);
			lines.push(row.selected ? theme.fg("accent", `→ ${text}`) : `  ${text}`);
		}
		if (this.#model.matchCount === 0) lines.push(theme.fg("muted", `  ${this.#spec.labels.noMatch}`));
		const status = this.#status(page, low);
		const help = theme.fg("dim", ` ${this.#spec.help}`);
		if (low) lines.push(status === "" ? help : `${theme.fg("muted", ` ${status} `)}${help}`);
		else lines.push(theme.fg("muted", ` ${status}`), help, ...border);
		return lines.map((line) => truncateToWidth(line, width, "…"));
	}

	#status(page: number, low: boolean): string {
		const { position, matchCount, filter } = this.#model;
		const { labels, kind } = this.#spec;
		if (this.#tooSoon) return labels.tooSoon;
		const positioned = low ? labels.positionShort : labels.position;
		const place = matchCount > page || filter !== "" ? positioned(position, matchCount) : "";
		if (kind === "actions") return place;
		// The end of a long filter is where the user types.
		const room = Math.max(Math.floor(this.#width / 2), 1);
		const typed = filter === "" ? "" : labels.filter(cutStart(visibleText(filter, visibleWidth), room, visibleWidth));
		return `${[place, typed].filter(Boolean).join("   ")}${this.focused ? CURSOR_MARKER : ""}`;
	}

	#layout(): Layout {
		const space = dialogSpace(this.#host.tui.terminal.rows);
		const frame = space.low ? FRAME_LINES_LOW : FRAME_LINES;
		const layout = listLayout(space, this.#spec.items.length, frame);
		const title = fitTitle(this.#spec.title, {
			width: Math.max(1, this.#width - 1),
			room: layout.titleRoom,
			dense: space.low,
			columns: visibleWidth,
			wrap: wrapTextWithAnsi,
		});
		return { low: space.low, title, page: layout.page(title.length) };
	}
}
