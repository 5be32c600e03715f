/** Fits texts into the columns and lines of a screen. Knows nothing of terminals but the width that texts take. */
import type { ListTitle, Piece } from "../ports.ts";
import { cutColumns } from "../rows.ts";
import { visibleText } from "./visible-text.ts";

export type Columns = (text: string) => number;

/** Columns that the part of a piece which may be cut keeps, however long the rest is. */
const CUT_MIN = 12;

export const DETAIL_INDENT = "  ";

/** Details that stay when a title has to become shorter. */
const DETAILS_KEPT = 3;

/** The end of a text: what tells two long paths apart. */
export function cutStart(text: string, max: number, columns: Columns): string {
	if (columns(text) <= max) return text;
	let kept = "";
	let width = 0;
	for (const { segment } of [...new Intl.Segmenter().segment(text)].reverse()) {
		width += columns(segment);
		if (width > max - 1) break;
		kept = segment + kept;
	}
	return `…${kept.trimStart()}`;
}

/** One line at most `width` columns wide: the text gives way first, the suffix only where nothing else is left. */
export function fitPiece(piece: Piece, width: number, columns: Columns): string {
	const text = visibleText(piece.text, columns);
	const suffix = visibleText(piece.suffix, columns);
	const room = Math.max(width - columns(suffix), Math.min(CUT_MIN, width));
	const cut = piece.cut === "start" ? cutStart(text, room, columns) : cutColumns(text, room, columns);
	return cutColumns(cut + suffix, width, columns);
}

export interface TitleShape {
	width: number;
	/** Lines that the title may take. */
	room: number;
	/** No blank lines, even where there is room. */
	dense: boolean;
	columns: Columns;
	wrap(text: string, width: number): string[];
}

/** What a title gives up, in this order. From "wrap" on, lines are cut rather than wrapped. */
const LEVELS = ["all", "blank", "note", "time", "quote", "heading", "wrap", "gaps", "fallback"] as const;
const WRAP_LEVEL = LEVELS.indexOf("wrap");

/**
 * The lines of a title within the room. Blank lines go first, then details down to a handful, then what the user knows
 * anyway, then all but the first of the details, then warnings. How many details there are always stays.
 */
export function fitTitle(title: ListTitle, { width, room, dense, columns, wrap }: TitleShape): string[] {
	const { details } = title;
	const part = (lines: ListTitle["head"], level: number): string[] =>
		lines.flatMap(({ text, kind }) => {
			if (kind !== undefined && LEVELS.indexOf(kind) <= level) return [];
			const safe = visibleText(text, columns);
			return safe === "" || level >= WRAP_LEVEL ? [cutColumns(safe, width, columns)] : wrap(safe, width);
		});
	let head: string[] = [];
	let tail: string[] = [];
	let kept = 0;
	for (let level = dense ? 1 : 0; level < LEVELS.length; level++) {
		head = part(title.head, level);
		tail = part(title.tail, level);
		const free = room - head.length - tail.length;
		// One line says how many are left out.
		kept = free >= details.length ? details.length : Math.max(free - 1, 0);
		const least = level < WRAP_LEVEL ? DETAILS_KEPT : 1;
		const wanted = level === 0 ? details.length : Math.min(least, details.length);
		if (free >= 0 && kept >= wanted) break;
	}
	const pieces = details.slice(0, kept).map((detail) => detail());
	const hidden = details.length - kept;
	if (hidden > 0) pieces.push({ text: title.more(hidden), suffix: "" });
	const shown = pieces.map((piece) => `${DETAIL_INDENT}${fitPiece(piece, width - DETAIL_INDENT.length, columns)}`);
	const lines = [...head, ...shown, ...tail];
	return lines.length <= room ? lines : lines.slice(0, Math.max(room, 1));
}
