/** The only caller of the addon. Every failure leaves here as a `CandyError`. */
import { utimes } from "node:fs/promises";
import type * as Native from "../native/index.d.ts";
import { CandyError, toCandyError } from "./errors.ts";
import type { NativeModule } from "./native.ts";

export type {
	FailedFile,
	ForkResult,
	GcReport,
	NotCaptured,
	PlanFile,
	PlanOptions,
	PlanSummary,
	Point,
	RedoItem,
	RedoType,
	RestoreOutcome,
	SkipReason,
	SnapshotOptions,
	SnapshotResult,
	SurveyRow,
	TrackResult,
	UnfinishedRestore,
} from "../native/index.d.ts";

/**
 * Longest wait of a call that the agent waits for. The engine gives up on a lock after five seconds by itself; but a
 * process that was stopped inside a transaction can keep the database from answering at all.
 */
const PATIENCE_MS = 15_000;

async function lifted<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (thrown) {
		throw toCandyError(thrown);
	}
}

/** As `lifted`, but gives up waiting, so that the agent goes on. What was begun may still be finished later. */
async function hurried<T>(work: () => Promise<T>): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const tooLong = new Promise<never>((_, reject) => {
		const late = new CandyError("the store did not answer in time", {
			code: "CANDY_LOCK_TIMEOUT",
			hint: "look for a stopped process that uses the store",
		});
		timer = setTimeout(() => reject(late), PATIENCE_MS);
		timer.unref();
	});
	try {
		return await Promise.race([lifted(work), tooLong]);
	} finally {
		clearTimeout(timer);
	}
}

export interface OpenOptions {
	path: string;
	workspace: string;
}

export class CandyStore {
	readonly #native: Native.Store;
	readonly path: string;

	private constructor(native: Native.Store, path: string) {
		this.#native = native;
		this.path = path;
	}

	static async open(addon: NativeModule, options: OpenOptions): Promise<CandyStore> {
		const native = await hurried(() => addon.Store.open({ path: options.path, workspace: options.workspace }));
		const { readOnlyReason } = native.info();
		if (readOnlyReason !== undefined && readOnlyReason !== null) {
			await lifted(() => native.close());
			throw new CandyError(readOnlyReason, { code: "CANDY_READ_ONLY", path: options.path });
		}
		return new CandyStore(native, options.path);
	}

	/** Other programs clean directories by age, and writing inside a directory does not make it younger. */
	async touch(): Promise<void> {
		const now = new Date();
		await utimes(this.path, now, now).catch(() => {});
	}

	hasSession(id: string): Promise<boolean> {
		return lifted(() => this.#native.hasSession(id));
	}

	async openSession(options: Native.SessionOptions): Promise<CandySession> {
		return new CandySession(await lifted(() => this.#native.openSession(options)));
	}

	fork(from: string, to: string, cwd: string): Promise<Native.ForkResult> {
		return lifted(() => this.#native.fork(from, to, cwd));
	}

	expireSessions(days: number): Promise<number> {
		return lifted(() => this.#native.expireSessions(days));
	}

	gc(force: boolean): Promise<Native.GcReport> {
		return lifted(() => this.#native.gc(force));
	}

	close(): Promise<void> {
		return lifted(() => this.#native.close());
	}
}

export class CandySession {
	readonly #native: Native.Session;

	constructor(native: Native.Session) {
		this.#native = native;
	}

	info(): Native.SessionInfo {
		return this.#native.info();
	}

	track(path: string): Promise<Native.TrackResult> {
		return hurried(() => this.#native.track(path));
	}

	toolDone(path: string, failed: boolean): Promise<void> {
		return hurried(() => this.#native.toolDone(path, failed));
	}

	glimpse(paths: string[]): Promise<number> {
		return hurried(() => this.#native.glimpse(paths));
	}

	snapshot(options: Native.SnapshotOptions): Promise<Native.SnapshotResult> {
		return hurried(() => this.#native.snapshot(options));
	}

	bind(pointId: string, entryId: string): Promise<void> {
		return hurried(() => this.#native.bind(pointId, entryId));
	}

	addGaps(pointId: string, gaps: string[]): Promise<void> {
		return hurried(() => this.#native.addGaps(pointId, gaps));
	}

	points(): Promise<Native.Point[]> {
		return lifted(() => this.#native.points());
	}

	plan(options: Native.PlanOptions): Promise<Native.PlanSummary> {
		return lifted(() => this.#native.plan(options));
	}

	survey(): Promise<number> {
		return lifted(() => this.#native.survey());
	}

	surveyRows(survey: number, options: Native.SurveyOptions): Promise<Native.SurveyRow[]> {
		return lifted(() => this.#native.surveyRows(survey, options));
	}

	diff(planId: number, path: string): Promise<string> {
		return lifted(() => this.#native.diff(planId, path));
	}

	apply(planId: number, maxPoints: number): Promise<Native.RestoreOutcome> {
		return lifted(() => this.#native.apply(planId, { maxPoints }));
	}

	resumeRestore(id: string, how: "finish" | "rollback"): Promise<Native.RestoreOutcome> {
		return lifted(() => this.#native.resumeRestore(id, how));
	}

	redoPush(item: { type: Native.RedoType; pointId?: string; oldLeafId?: string; maxItems: number }): Promise<void> {
		return lifted(() => this.#native.redoPush(item));
	}

	redoPeek(): Promise<Native.RedoItem | null> {
		return hurried(() => this.#native.redoPeek());
	}

	redoPop(): Promise<void> {
		return lifted(() => this.#native.redoPop());
	}

	redoClear(): Promise<void> {
		return hurried(() => this.#native.redoClear());
	}

	close(): Promise<void> {
		return lifted(() => this.#native.close());
	}
}
