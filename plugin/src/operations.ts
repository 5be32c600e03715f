/**
 * Snapshots of a session and the user messages they belong to.
 *
 * A run begins with one prompt. The snapshot taken before it is bound to the first user message that appears on the
 * branch after the leaf of that moment. Further messages of the run (steering, follow-ups) get a snapshot of their own
 * as soon as they are on the branch, so that choosing one restores the state in which it arrived.
 */
import { type BranchEntry, entryText, unansweredUserMessages, userMessagesAfter } from "./branch.ts";
import type { CandyError } from "./errors.ts";
import { toCandyError } from "./errors.ts";
import type { CandySession, NotCaptured, Point } from "./store.ts";

interface Run {
	startLeafId: string | null;
	/** Snapshot from before the run, until it is bound. */
	unboundPointId: string | undefined;
}

export interface OperationEvents {
	/** A snapshot was taken: the store works. */
	taken(): void;
	failed(error: CandyError): void;
	notCaptured(files: NotCaptured[]): void;
}

export class Operations {
	readonly #session: CandySession;
	readonly #maxPoints: number;
	readonly #events: OperationEvents;
	#run: Run | undefined;
	/** User messages that have a point. */
	readonly #bound = new Set<string>();
	/** The point that new gaps belong to; undefined when the store failed. */
	#currentPointId: string | undefined;
	readonly #gaps = new Map<string, Set<string>>();
	/** Gaps of a run whose snapshot failed. They cannot be stored, so they last as long as the process. */
	#looseGaps: Set<string> | undefined;
	readonly #looseByEntry = new Map<string, Set<string>>();
	#background: Promise<void> = Promise.resolve();

	constructor(session: CandySession, maxPoints: number, events: OperationEvents) {
		this.#session = session;
		this.#maxPoints = maxPoints;
		this.#events = events;
	}

	/** Takes over what the store knows; makes the baseline when that is nothing. */
	async start(): Promise<void> {
		const points = await this.#session.points();
		for (const point of points) {
			if (point.entryId !== undefined && point.entryId !== null) this.#bound.add(point.entryId);
			this.#gaps.set(point.id, new Set(point.gaps));
		}
		this.#currentPointId = points.at(-1)?.id;
		if (points.length === 0) await this.#snapshot({ kind: "baseline" });
	}

	/** A run starts. `prompt` is undefined where no person started it: then it has no snapshot from before. */
	async begin(leafId: string | null, prompt: string | undefined): Promise<void> {
		this.#run = { startLeafId: leafId, unboundPointId: undefined };
		if (prompt === undefined) return;
		const point = await this.#snapshot({ kind: "operation", prompt });
		this.#run.unboundPointId = point?.id;
	}

	/** Before each model request: the messages that just arrived are on the branch now. */
	async messagesArrived(branch: readonly BranchEntry[]): Promise<void> {
		await this.bindPending(branch);
		if (this.#run === undefined) return;
		const ofRun = new Set(userMessagesAfter(branch, this.#run.startLeafId).map((entry) => entry.id));
		for (const entry of unansweredUserMessages(branch)) {
			if (!ofRun.has(entry.id) || this.#bound.has(entry.id) || this.#looseByEntry.has(entry.id)) continue;
			const point = await this.#snapshot({ kind: "operation", prompt: entryText(entry), entryId: entry.id });
			if (point === undefined) this.#keepLoose(entry.id);
			else this.#bound.add(entry.id);
		}
	}

	/** Binds the snapshot from before the run, if its message is there by now. */
	async bindPending(branch: readonly BranchEntry[]): Promise<void> {
		const run = this.#run;
		if (run === undefined) return;
		const first = userMessagesAfter(branch, run.startLeafId)[0];
		if (first === undefined) return;
		if (this.#looseGaps !== undefined && !this.#bound.has(first.id)) this.#keepLoose(first.id);
		const pointId = run.unboundPointId;
		if (pointId === undefined) return;
		run.unboundPointId = undefined;
		if (this.#bound.has(first.id)) return;
		try {
			await this.#session.bind(pointId, first.id);
			this.#bound.add(first.id);
		} catch (thrown) {
			run.unboundPointId = pointId;
			this.#events.failed(toCandyError(thrown));
		}
	}

	/** Notes why the present turn is not fully covered. Returns at once; `settle` waits for the writing. */
	addGap(reason: string): void {
		if (this.#currentPointId === undefined) {
			this.#looseGaps?.add(reason);
			return;
		}
		const pointId = this.#currentPointId;
		const known = this.#gaps.get(pointId) ?? new Set();
		this.#gaps.set(pointId, known);
		if (known.has(reason)) return;
		known.add(reason);
		this.#background = this.#background
			.then(() => this.#session.addGaps(pointId, [reason]))
			.catch((thrown: unknown) => this.#events.failed(toCandyError(thrown)));
	}

	/** Why the turn of a message is not fully covered, as far as this process or the store knows. */
	gapsOf(entryId: string, point: Point | undefined): string[] {
		const stored = point === undefined ? [] : [...point.gaps, ...(this.#gaps.get(point.id) ?? [])];
		return [...new Set([...stored, ...(this.#looseByEntry.get(entryId) ?? [])])];
	}

	/** Waits for everything that was started. */
	settle(): Promise<void> {
		return this.#background;
	}

	#keepLoose(entryId: string): void {
		this.#looseByEntry.set(entryId, this.#looseGaps ?? new Set(["store"]));
	}

	async #snapshot(options: {
		kind: "baseline" | "operation";
		prompt?: string;
		entryId?: string;
	}): Promise<Point | undefined> {
		try {
			const { point, notCaptured } = await this.#session.snapshot({ ...options, maxPoints: this.#maxPoints });
			this.#currentPointId = point.id;
			this.#looseGaps = undefined;
			this.#events.taken();
			if (notCaptured.length > 0) this.#events.notCaptured(notCaptured);
			return point;
		} catch (thrown) {
			this.#currentPointId = undefined;
			this.#looseGaps = new Set(["store"]);
			this.#events.failed(toCandyError(thrown));
			return undefined;
		}
	}
}
