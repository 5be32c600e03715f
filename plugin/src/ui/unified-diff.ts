/** Reads unified diffs, as the engine writes them, in steps short enough to let others work in between. */
import type { LineEndings } from "../ports.ts";

export type DiffLineKind = "hunk" | "context" | "added" | "removed" | "noNewline" | "cut";

export interface DiffLine {
	kind: DiffLineKind;
	/** Without the sign and without the end of the line, but with the `\r` of a Windows line end. */
	text: string;
	/** Number of the line: in the present file if it is removed, else in the file as it will be. */
	number: number;
}

export interface ParsedDiff {
	lines: DiffLine[];
	/** The largest line number. */
	numberMax: number;
	/** Set when nothing but `\r\n` against `\n` differs. */
	onlyLineEndings: LineEndings | undefined;
	/** Lines of both kinds of ends are among the changed ones, so that they have to be told apart. */
	mixedEndings: boolean;
}

/** Lines read between two yields: well below a millisecond. */
const LINES_PER_STEP = 500;

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Whether what goes and what comes is the same but for the ends of its lines. */
class EndingsWatch {
	#removed: string[] = [];
	#added: string[] = [];
	#same = true;
	#crRemoved = 0;
	#crAdded = 0;
	#countRemoved = 0;
	#countAdded = 0;

	see(kind: "removed" | "added", text: string): void {
		const cr = text.endsWith("\r");
		if (kind === "removed") {
			this.#countRemoved++;
			if (cr) this.#crRemoved++;
		} else {
			this.#countAdded++;
			if (cr) this.#crAdded++;
		}
		if (!this.#same) return;
		const own = kind === "removed" ? this.#removed : this.#added;
		const other = kind === "removed" ? this.#added : this.#removed;
		const bare = cr ? text.slice(0, -1) : text;
		const opposite = other[own.length];
		own.push(bare);
		if (opposite !== undefined && opposite !== bare) {
			this.#same = false;
			this.#removed = [];
			this.#added = [];
		}
	}

	get mixed(): boolean {
		const cr = this.#crRemoved + this.#crAdded;
		return cr > 0 && cr < this.#countRemoved + this.#countAdded;
	}

	get only(): LineEndings | undefined {
		if (!this.#same || this.#countRemoved !== this.#countAdded || !this.mixed) return undefined;
		if (this.#crAdded === 0) return "toLf";
		return this.#crRemoved === 0 ? "toCrlf" : "mixed";
	}
}

/** The two lines of file names are left out. Yields between steps; returns the result. */
export function* parseDiff(diff: string): Generator<void, ParsedDiff> {
	const lines: DiffLine[] = [];
	const endings = new EndingsWatch();
	let [oldNumber, newNumber, numberMax] = [0, 0, 0];
	let inHunk = false;
	let read = 0;
	for (let start = 0; start < diff.length; ) {
		const newline = diff.indexOf("\n", start);
		const end = newline === -1 ? diff.length : newline;
		const line = diff.slice(start, end);
		start = end + 1;
		if (++read % LINES_PER_STEP === 0) yield;
		const hunk = line.startsWith("@@") ? HUNK.exec(line) : null;
		if (hunk !== null) {
			inHunk = true;
			[oldNumber, newNumber] = [Number(hunk[1]), Number(hunk[2])];
			lines.push({ kind: "hunk", text: hunk[0], number: newNumber });
			continue;
		}
		if (!inHunk) continue;
		const text = line.slice(1);
		if (line.startsWith("+") || line.startsWith("-")) {
			const kind = line.startsWith("+") ? "added" : "removed";
			endings.see(kind, text);
			lines.push({ kind, text, number: kind === "added" ? newNumber++ : oldNumber++ });
		} else if (line.startsWith("\\")) {
			// The other remark of the engine is that the rest of a very long diff was left out.
			const kind = line.startsWith("\\ No newline") ? "noNewline" : "cut";
			lines.push({ kind, text: "", number: 0 });
		} else {
			lines.push({ kind: "context", text, number: newNumber++ });
			oldNumber++;
		}
		numberMax = Math.max(numberMax, oldNumber - 1, newNumber - 1);
	}
	return { lines, numberMax, onlyLineEndings: endings.only, mixedEndings: endings.mixed };
}
