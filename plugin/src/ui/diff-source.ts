/** Loads the diffs of a plan, one after another and only those that are asked for. */
import { setImmediate } from "node:timers/promises";
import { toCandyError } from "../errors.ts";
import type { DiffSpec } from "../ports.ts";
import { type DiffLine, type ParsedDiff, parseDiff } from "./unified-diff.ts";

export interface NoteLine {
	kind: "note";
	text: string;
}

export interface Body {
	lines: readonly (DiffLine | NoteLine)[];
	numberMax: number;
	/** Show which lines end in `\r\n`. */
	showCr: boolean;
}

function note(text: string): Body {
	return { lines: [{ kind: "note", text }], numberMax: 0, showCr: false };
}

/** Reading a large diff must not keep the keyboard waiting. */
async function readWhole(diff: string): Promise<ParsedDiff> {
	const steps = parseDiff(diff);
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
		await setImmediate();
	}
}

export class DiffSource {
	readonly #spec: DiffSpec;
	readonly #bodies: (Body | undefined)[] = [];
	readonly #loaded: (file: number, lines: number) => void;
	#busy = false;
	#closed = false;

	/** `loaded` hears of each body, and may ask for more. */
	constructor(spec: DiffSpec, loaded: (file: number, lines: number) => void) {
		this.#spec = spec;
		this.#loaded = loaded;
	}

	body(file: number): Body {
		return this.#bodies[file] ?? note(this.#spec.labels.loading);
	}

	close(): void {
		this.#closed = true;
	}

	/** Loads the first of the files, unless one is being loaded: the answer to that asks again. */
	want(files: readonly number[]): void {
		const [file] = files;
		if (file === undefined || this.#busy || this.#closed) return;
		this.#busy = true;
		void this.#load(file).then((body) => {
			this.#busy = false;
			if (this.#closed) return;
			this.#bodies[file] = body;
			this.#loaded(file, body.lines.length);
		});
	}

	async #load(file: number): Promise<Body> {
		const { files, labels, load } = this.#spec;
		const one = files[file];
		if (one === undefined) return note(labels.empty);
		const known = one.note();
		if (known !== undefined) return note(known);
		try {
			const { lines, numberMax, onlyLineEndings, mixedEndings } = await readWhole(await load(one.path));
			if (onlyLineEndings !== undefined) return note(labels.onlyLineEndings(onlyLineEndings));
			return lines.length === 0 ? note(labels.empty) : { lines, numberMax, showCr: mixedEndings };
		} catch (thrown) {
			return note(labels.failed(toCandyError(thrown).message));
		}
	}
}
