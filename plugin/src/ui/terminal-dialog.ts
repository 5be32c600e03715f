/** A list in pi's terminal interface, with the diff view that can be opened from it: one dialog for pi. */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Component, Focusable, TuiMouseEvent, TuiMouseEventResult } from "@earendil-works/pi-tui";
import type { ListSpec } from "../ports.ts";
import { DiffView } from "./diff-view.ts";
import { type DialogHost, ListDialog } from "./list-dialog.ts";
import { piSyntax, type Syntax } from "./syntax.ts";

/** Shows the list, or the diff over it; the list keeps its selection meanwhile. */
export class TerminalDialog implements Component, Focusable {
	readonly capturesViewportInput = true;
	readonly list: ListDialog;
	readonly #host: DialogHost;
	#diff: DiffView | undefined;

	constructor(spec: ListSpec, host: DialogHost, syntax: Syntax, close: (chosen: number | undefined) => void) {
		this.#host = host;
		this.list = new ListDialog(spec, host, {
			close,
			openDiff: () => {
				if (spec.diff === undefined) return;
				this.#diff = new DiffView(spec.diff, host, syntax, () => this.#closeDiff());
				host.tui.requestRender();
			},
		});
	}

	get focused(): boolean {
		return this.list.focused;
	}

	set focused(focused: boolean) {
		this.list.focused = focused;
	}

	#closeDiff(): void {
		this.#diff?.dispose();
		this.#diff = undefined;
		this.#host.tui.requestRender();
	}

	get #shown(): ListDialog | DiffView {
		return this.#diff ?? this.list;
	}

	handleInput(data: string): void {
		this.#shown.handleInput(data);
	}

	handleMouse(event: TuiMouseEvent): TuiMouseEventResult | undefined {
		return this.#shown.handleMouse(event);
	}

	render(width: number): string[] {
		return this.#shown.render(width);
	}

	invalidate(): void {
		this.list.invalidate();
		this.#diff?.invalidate();
	}

	dispose(): void {
		this.#diff?.dispose();
	}
}

/** Shows the list and resolves with the chosen index, or undefined. */
export async function chooseInTerminal(ctx: ExtensionCommandContext, spec: ListSpec): Promise<number | undefined> {
	const closed = new AbortController();
	try {
		return await ctx.ui.custom<number | undefined>((tui, theme, keys, done) => {
			const host: DialogHost = { tui, theme, keys, now: () => performance.now() };
			const dialog = new TerminalDialog(spec, host, piSyntax, done);
			void spec.fill?.((index, label) => dialog.list.setLabel(index, label), closed.signal).catch(() => {});
			return dialog;
		});
	} finally {
		closed.abort();
	}
}
