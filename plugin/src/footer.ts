/** The one word in pi's footer: nothing while all is well. */
import type { Texts } from "./text/index.ts";

export type Health = "on" | "degraded" | "off";

export class Footer {
	readonly #set: (text: string | undefined) => void;
	readonly #texts: Texts;
	#shown: Health = "on";

	constructor(set: (text: string | undefined) => void, texts: Texts) {
		this.#set = set;
		this.#texts = texts;
	}

	show(health: Health): void {
		if (health === this.#shown) return;
		this.#shown = health;
		try {
			this.#set(health === "on" ? undefined : this.#texts.t(`footer.${health}`));
		} catch {
			// pi takes the context away when a session ends; background work may finish after that.
		}
	}
}
