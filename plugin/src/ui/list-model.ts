/** The state of a list dialog: items, filter, selection, pages. Knows nothing of terminals. */
import type { ListItem } from "../ports.ts";

export interface VisibleRow {
	/** Index among all items. */
	index: number;
	/** Beginning of the label that may be cut, and the rest. */
	text: string;
	suffix: string;
	selected: boolean;
}

export class ListModel {
	readonly #items: ListItem[];
	#filter = "";
	/** Indexes of the items that match the filter. */
	#matches: number[];
	/** Position in `#matches`. */
	#at = 0;

	constructor(items: readonly ListItem[]) {
		this.#items = items.map((item) => ({ ...item }));
		this.#matches = this.#items.map((_, index) => index);
	}

	get filter(): string {
		return this.#filter;
	}

	get matchCount(): number {
		return this.#matches.length;
	}

	/** Position of the selection among the matches, from 1; 0 when nothing matches. */
	get position(): number {
		return this.#matches.length === 0 ? 0 : this.#at + 1;
	}

	/** Index of the selected item. */
	get selected(): number | undefined {
		return this.#matches[this.#at];
	}

	setLabel(index: number, label: string): void {
		const item = this.#items[index];
		if (item === undefined) return;
		item.label = label;
		if (this.#filter !== "") this.#refilter();
	}

	/** One step, around the ends. */
	move(step: 1 | -1): void {
		const count = this.#matches.length;
		if (count > 0) this.#at = (this.#at + step + count) % count;
	}

	/** Steps that stop at the ends, as a mouse wheel makes them. */
	wheel(steps: number): void {
		this.page(steps < 0 ? -1 : 1, Math.abs(steps));
	}

	/** Selects a row of the page that is shown; false where there is none. */
	selectVisible(row: number, pageSize: number): boolean {
		const at = Math.floor(this.#at / pageSize) * pageSize + row;
		if (row < 0 || row >= pageSize || at >= this.#matches.length) return false;
		this.#at = at;
		return true;
	}

	/** One page, stopping at the ends. */
	page(step: 1 | -1, pageSize: number): void {
		this.#at = Math.min(Math.max(this.#at + step * pageSize, 0), Math.max(this.#matches.length - 1, 0));
	}

	setFilter(filter: string): void {
		this.#filter = filter;
		this.#refilter();
	}

	/** Takes the last character off the filter, whole as a person sees it. */
	eraseOne(): void {
		const segments = [...new Intl.Segmenter().segment(this.#filter)];
		this.setFilter(
			segments
				.slice(0, -1)
				.map(({ segment }) => segment)
				.join(""),
		);
	}

	/** The page that holds the selection. */
	visible(pageSize: number): VisibleRow[] {
		const start = Math.floor(this.#at / pageSize) * pageSize;
		return this.#matches.slice(start, start + pageSize).map((index, offset) => {
			const { label, cut } = this.#items[index] ?? { label: "" };
			const text = cut !== undefined && label.startsWith(cut) ? cut : label;
			return { index, text, suffix: label.slice(text.length), selected: start + offset === this.#at };
		});
	}

	#refilter(): void {
		const selected = this.selected;
		const words = this.#filter.toLowerCase().split(/\s+/).filter(Boolean);
		this.#matches = this.#items.flatMap(({ label, search }, index) => {
			const text = (search ?? label).toLowerCase();
			return words.every((word) => text.includes(word)) ? [index] : [];
		});
		const at = selected === undefined ? -1 : this.#matches.indexOf(selected);
		this.#at = at === -1 ? 0 : at;
	}
}
