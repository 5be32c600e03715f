/** Makes a file's content durable before a tool changes it, and notes what the tool left behind. */
import type { CandyError } from "./errors.ts";
import { toCandyError } from "./errors.ts";
import type { CandySession, SkipReason } from "./store.ts";

export interface TrackerEvents {
	gap(reason: string): void;
	failed(error: CandyError): void;
	skipped(path: string, reason: SkipReason): void;
	pathChanged(path: string): void;
}

interface Call {
	path: string;
	recorded: boolean;
}

export class Tracker {
	readonly #session: CandySession;
	readonly #events: TrackerEvents;
	/** Spellings for which the addon needs no further call, with the reason where it does not record them. */
	readonly #settled = new Map<string, SkipReason | undefined>();
	readonly #calls = new Map<string, Call>();

	constructor(session: CandySession, events: TrackerEvents) {
		this.#session = session;
		this.#events = events;
	}

	/** Before the tool runs. Never throws: a failure costs coverage, not the tool call. */
	async before(toolCallId: string, path: string): Promise<void> {
		const recorded = await this.#record(path);
		this.#calls.set(toolCallId, { path, recorded });
	}

	/** After the tool ran; `path` is the one it was really given, which another extension may have changed. */
	async after(toolCallId: string, path: string | undefined, failed: boolean): Promise<void> {
		const call = this.#calls.get(toolCallId);
		if (call === undefined) return;
		this.#calls.delete(toolCallId);
		if (path === undefined || path === call.path) {
			await this.#done(call, failed);
			return;
		}
		await this.#done(call, true);
		if (this.#settled.has(path) && this.#settled.get(path) === undefined) {
			await this.#done({ path, recorded: true }, failed);
			return;
		}
		this.#events.gap("path-changed");
		this.#events.pathChanged(path);
	}

	/** Calls that never came back: blocked, aborted, or lost with their run. */
	async sweep(): Promise<void> {
		for (const toolCallId of [...this.#calls.keys()]) await this.after(toolCallId, undefined, true);
	}

	async #record(path: string): Promise<boolean> {
		if (this.#settled.has(path)) return this.#note(path, this.#settled.get(path));
		try {
			const result = await this.#session.track(path);
			const reason = result.status === "skipped" ? (result.reason ?? "unreadable") : undefined;
			if (result.cacheable) this.#settled.set(path, reason);
			return this.#note(path, reason);
		} catch (thrown) {
			this.#events.gap("store");
			this.#events.failed(toCandyError(thrown));
			return false;
		}
	}

	#note(path: string, reason: SkipReason | undefined): boolean {
		if (reason === undefined) return true;
		this.#events.gap(reason);
		this.#events.skipped(path, reason);
		return false;
	}

	async #done(call: Call, failed: boolean): Promise<void> {
		if (!call.recorded) return;
		// The addon may forget a path whose first tool call failed, so the next call must ask again.
		if (failed) this.#settled.delete(call.path);
		try {
			await this.#session.toolDone(call.path, failed);
		} catch (thrown) {
			this.#events.failed(toCandyError(thrown));
		}
	}
}
