/**
 * Keeps a key that was pressed twice, or held down, from confirming what nobody can have read yet.
 *
 * `/undo`, Enter, Enter must not write files before the list of those files was on the screen for a moment.
 */
const PAUSE_MS = 250;

export class ConfirmGuard {
	readonly #now: () => number;
	/** Since when the key has been up and the dialog in sight. */
	#quietSince: number | undefined;

	constructor(now: () => number) {
		this.#now = now;
	}

	/** The dialog is on the screen, or it is again. */
	shown(): void {
		this.#quietSince ??= this.#now();
	}

	hidden(): void {
		this.#quietSince = undefined;
	}

	/** Whether the key means it. Each press that came too soon starts the wait anew. */
	allows(): boolean {
		const now = this.#now();
		const quiet = this.#quietSince !== undefined && now - this.#quietSince >= PAUSE_MS;
		if (!quiet && this.#quietSince !== undefined) this.#quietSince = now;
		return quiet;
	}
}
