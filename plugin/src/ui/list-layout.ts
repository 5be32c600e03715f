/** How many lines of a terminal each part of a list gets. */

const PAGE_ROWS_MAX = 12;
/** Rows that a tall title must leave room for, where there is room. */
const ROWS_MIN = 6;
/** Rows that stay on the lowest terminal. */
const ROWS_LEAST = 3;
/** What stays visible outside of a dialog: pi's footer, and a little of the transcript. */
const OUTSIDE_LINES = 4;
const OUTSIDE_LINES_LOW = 3;
/** Terminals with fewer rows have none to spare for borders and blank lines. */
const LOW_ROWS = 18;

export interface DialogSpace {
	/** Lines that the dialog may take. */
	lines: number;
	/** No borders and no blank lines. */
	low: boolean;
}

export function dialogSpace(terminalRows: number): DialogSpace {
	const low = terminalRows < LOW_ROWS;
	return { lines: Math.max(terminalRows - (low ? OUTSIDE_LINES_LOW : OUTSIDE_LINES), ROWS_LEAST + 2), low };
}

export interface ListLayout {
	/** Lines of the title, a blank line below it included. */
	titleRoom: number;
	/** Rows of a page under a title of so many lines. */
	page(titleLines: number): number;
}

/** `frame`: lines that are neither title nor rows. */
export function listLayout(space: DialogSpace, items: number, frame: number): ListLayout {
	const inner = space.lines - frame;
	const wanted = Math.min(items, ROWS_MIN);
	// A low screen lets the rows scroll rather than hide what they are about.
	const rows = Math.min(wanted, Math.max(ROWS_LEAST, inner - Math.max(Math.floor(inner / 2), 1)));
	return {
		titleRoom: Math.max(1, inner - (space.low ? rows : wanted)),
		page: (titleLines) => Math.max(Math.min(wanted, ROWS_LEAST), Math.min(PAGE_ROWS_MAX, inner - titleLines)),
	};
}
