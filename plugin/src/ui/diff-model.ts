/** The state of the diff view: files, what is known of each, where the reader is. Knows nothing of terminals. */

export interface Place {
	file: number;
	/** Line of the file's body that is the first in sight, below the file's heading. */
	line: number;
}

export type DiffRow =
	| { type: "heading"; file: number }
	| { type: "body"; file: number; line: number }
	| { type: "blank" };

/** Lines between the end of a file and the first line of the next: a blank and a heading. */
const GAP_LINES = 2;

export class DiffModel {
	/** Lines of each body; undefined until it is known. A body has at least one line. */
	readonly #lengths: (number | undefined)[];
	#top: Place = { file: 0, line: 0 };
	/** Whether to stay at the end while files above it are still coming in. */
	#atEnd = false;
	/** Lines of the last drawing, headings included. */
	#height = 1;

	constructor(files: number) {
		this.#lengths = Array.from({ length: files }, () => undefined);
	}

	get top(): Place {
		return this.#top;
	}

	get files(): number {
		return this.#lengths.length;
	}

	setHeight(lines: number): void {
		this.#height = Math.max(lines, 2);
		if (this.#atEnd) this.#top = this.#lastTop();
	}

	setLength(file: number, lines: number): void {
		this.#lengths[file] = Math.max(lines, 1);
		if (this.#atEnd) this.#top = this.#lastTop();
		else if (this.#top.file === file) {
			this.#top = { file, line: Math.min(this.#top.line, this.#length(file) - 1) };
		}
	}

	/** Positive is down. Stops where the last line is in sight. */
	scroll(lines: number): void {
		const from = this.#top;
		this.#atEnd = false;
		let { file, line } = from;
		line += lines;
		while (line >= this.#length(file) && file < this.files - 1) {
			line -= this.#length(file);
			file++;
		}
		while (line < 0 && file > 0) {
			file--;
			line += this.#length(file);
		}
		const to = { file, line: Math.min(Math.max(line, 0), this.#length(file) - 1) };
		// Who jumped to one of the last files is below that place already, and must not be pulled up by "down".
		this.#top = lines > 0 ? later(from, earlier(to, this.#lastTop())) : to;
	}

	/** The last line in sight becomes the first one, or the other way around. */
	page(step: 1 | -1): void {
		const { file, line } = this.#top;
		let to: Place | undefined;
		if (step < 0) to = this.#topEndingAt(this.#top);
		else {
			const last = this.rows().findLast((row) => row.type !== "blank");
			const end = later(this.#top, this.#lastTop());
			if (last !== undefined) to = earlier({ file: last.file, line: last.type === "body" ? last.line : 0 }, end);
		}
		// A screen of one line has nothing to keep.
		if (to === undefined || (to.file === file && to.line === line)) return this.scroll(step);
		this.#atEnd = false;
		this.#top = to;
	}

	home(): void {
		this.#atEnd = false;
		this.#top = { file: 0, line: 0 };
	}

	end(): void {
		this.#atEnd = true;
		this.#top = this.#lastTop();
	}

	/** The start of the next file; backwards, the start of this one first. */
	jump(step: 1 | -1): void {
		this.#atEnd = false;
		const { file, line } = this.#top;
		const target = step < 0 && line > 0 ? file : file + step;
		if (target >= 0 && target < this.files) this.#top = { file: target, line: 0 };
	}

	/** What fills the screen. The first row is always a heading: that of the file the reader is in. */
	rows(): DiffRow[] {
		const rows: DiffRow[] = [];
		for (let { file, line } = this.#top; file < this.files && rows.length < this.#height; file++, line = 0) {
			if (rows.length > 0) rows.push({ type: "blank" });
			rows.push({ type: "heading", file });
			const end = Math.min(this.#length(file), line + this.#height - rows.length);
			for (let at = line; at < end; at++) rows.push({ type: "body", file, line: at });
		}
		return rows.slice(0, this.#height);
	}

	/** Files to load: those in sight from the top down, then the neighbours, so that going up finds the end of a file. */
	wanted(): number[] {
		const inSight = this.rows().flatMap((row) => (row.type === "heading" ? [row.file] : []));
		const last = inSight.at(-1) ?? this.#top.file;
		return [...inSight, this.#top.file - 1, last + 1].filter(
			(file) => file >= 0 && file < this.files && this.#lengths[file] === undefined,
		);
	}

	#length(file: number): number {
		return this.#lengths[file] ?? 1;
	}

	/** Where the last line of the last file is the last one on the screen. */
	#lastTop(): Place {
		const file = this.files - 1;
		return this.#topEndingAt({ file, line: this.#length(file) - 1 });
	}

	/** Where a screen begins whose last line is the given one. */
	#topEndingAt(last: Place): Place {
		let room = this.#height - 1;
		let length = last.line + 1;
		for (let { file } = last; file >= 0; file--, length = this.#length(file)) {
			if (length >= room) return { file, line: length - room };
			room -= length + GAP_LINES;
			if (room <= 0) return { file, line: 0 };
		}
		return { file: 0, line: 0 };
	}
}

function compare(a: Place, b: Place): number {
	return a.file - b.file || a.line - b.line;
}

const earlier = (a: Place, b: Place): Place => (compare(a, b) <= 0 ? a : b);
const later = (a: Place, b: Place): Place => (compare(a, b) >= 0 ? a : b);
