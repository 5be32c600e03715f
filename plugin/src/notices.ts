/** What the user is told outside of a command, each thing once. */
import type { CandyError } from "./errors.ts";
import type { TextKey, Texts, Values } from "./text/index.ts";

export type Level = "info" | "warning" | "error";
export type Notify = (message: string, level: Level) => void;

/** The reason and the next step, in the user's language where the code is a known one. */
export function explain(texts: Texts, error: CandyError): string {
	const values: Values = { path: error.path ?? "?", message: error.message, hint: error.hint ?? "" };
	const key = `error.${error.code}`;
	if (error.path !== undefined && texts.has(key)) return texts.t(key, values);
	return texts.t(error.hint === undefined ? "error.plain" : "error.hint", values);
}

export class Notices {
	readonly #said = new Set<string>();
	readonly #notify: Notify;
	readonly #texts: () => Texts;

	constructor(notify: Notify, texts: () => Texts) {
		this.#notify = notify;
		this.#texts = texts;
	}

	/** Says it unless the same `about` was said before. */
	once(about: string, level: Level, key: TextKey, values: Values = {}): void {
		if (this.#said.has(about)) return;
		this.#said.add(about);
		const texts = this.#texts();
		try {
			this.#notify(texts.t("notice.prefix", { text: texts.t(key, values) }), level);
		} catch {
			// pi takes the context away when a session ends; background work may finish after that.
		}
	}

	/** A failure of the store: one notice for each kind of failure. */
	failure(key: TextKey, error: CandyError): void {
		this.once(`failure:${error.code}`, "warning", key, { reason: explain(this.#texts(), error) });
	}
}
