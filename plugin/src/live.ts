/** One pi session with its history open: what lives from `session_start` to `session_shutdown`. */
import { realpath } from "node:fs/promises";
import { toCandyError } from "./errors.ts";
import type { Footer } from "./footer.ts";
import type { Log } from "./log.ts";
import type { NativeModule } from "./native.ts";
import type { Notices } from "./notices.ts";
import { Operations } from "./operations.ts";
import { readOrigin, type SessionOrigin } from "./origin.ts";
import { excludePatterns, maxFileSizeBytes, type Settings } from "./settings.ts";
import { type CandySession, CandyStore, type UnfinishedRestore } from "./store.ts";
import type { Texts } from "./text/index.ts";
import { Tracker } from "./tracker.ts";

export interface LiveOptions {
	addon: NativeModule;
	settings: Settings;
	texts: Texts;
	notices: Notices;
	footer: Footer;
	log: Log;
	storePath: string;
	cwd: string;
	sessionId: string;
	/** Session file that this session was forked from. */
	parentFile: string | undefined;
	/** The same where no file was written (`--no-session`). */
	parent: SessionOrigin | undefined;
}

export class LiveSession {
	readonly store: CandyStore;
	readonly session: CandySession;
	readonly settings: Settings;
	readonly texts: Texts;
	readonly operations: Operations;
	readonly tracker: Tracker;
	readonly log: Log;
	/** Restores that a crash interrupted and nobody has decided about. */
	unfinished: UnfinishedRestore[];
	#command: string | undefined;

	private constructor(store: CandyStore, session: CandySession, options: LiveOptions) {
		const { notices, footer, texts, settings, log } = options;
		this.store = store;
		this.session = session;
		this.settings = settings;
		this.texts = texts;
		this.log = log;
		this.unfinished = session.info().unfinished;
		this.operations = new Operations(session, settings.maxSnapshotsPerSession, {
			taken: () => footer.show("on"),
			failed(error) {
				footer.show("degraded");
				log.write("snapshot failed", { code: error.code, message: error.message });
				notices.failure("notice.snapshotFailed", error);
			},
			notCaptured(files) {
				const list = texts.list(files.map((file) => `${file.path} (${texts.t(`reason.${file.reason}`)})`));
				notices.once(`not-captured:${list}`, "warning", "notice.notCaptured", { count: files.length, list });
			},
		});
		const { operations } = this;
		this.tracker = new Tracker(session, {
			gap: (reason) => operations.addGap(reason),
			failed(error) {
				footer.show("degraded");
				log.write("track failed", { code: error.code, message: error.message });
				notices.failure("notice.trackFailed", error);
			},
			skipped(path, reason) {
				log.write("not tracked", { path, reason });
				// Excluded paths are the user's own wish; the rest comes as a surprise.
				if (reason === "excluded") return;
				const values = { path, reason: texts.t(`reason.${reason}`) };
				notices.once(`skipped:${reason}:${path}`, "warning", "notice.notTracked", values);
			},
			pathChanged(path) {
				notices.once(`path-changed:${path}`, "warning", "notice.pathChanged", { path });
			},
		});
	}

	static async open(options: LiveOptions): Promise<LiveSession> {
		const { settings, sessionId, log } = options;
		const cwd = await realpath(options.cwd);
		const store = await CandyStore.open(options.addon, { path: options.storePath, workspace: cwd });
		try {
			await store.touch();
			await inherit(store, options, cwd);
			const session = await store.openSession({
				id: sessionId,
				cwd,
				exclude: excludePatterns(settings),
				maxFileSizeBytes: maxFileSizeBytes(settings),
			});
			const live = new LiveSession(store, session, options);
			await live.operations.start();
			const { points, trackedFiles } = session.info();
			log.write("session opened", { sessionId, store: options.storePath, points, trackedFiles });
			return live;
		} catch (thrown) {
			await store.close().catch(() => {});
			throw thrown;
		}
	}

	/** Only one command at a time may hold the session: a client may send a second one while a dialog is open. */
	enter(command: string): boolean {
		if (this.#command !== undefined) return false;
		this.#command = command;
		return true;
	}

	leave(): void {
		this.#command = undefined;
	}

	/** Drops old sessions and garbage. Failures only reach the log: history is in the way of nobody. */
	async tidy(): Promise<void> {
		try {
			const { cleanupPeriodDays } = this.settings;
			if (cleanupPeriodDays > 0) {
				const dropped = await this.store.expireSessions(cleanupPeriodDays);
				if (dropped > 0) this.log.write("sessions expired", { dropped });
			}
			const report = await this.store.gc(false);
			if (report.ran) this.log.write("gc", { ...report });
		} catch (thrown) {
			const error = toCandyError(thrown);
			this.log.write("tidy failed", { code: error.code, message: error.message });
		}
	}

	/** Finishes what is pending, then gives the store back. */
	async close(options: { tidy: boolean }): Promise<void> {
		await this.tracker.sweep();
		await this.operations.settle();
		await this.session.close().catch((thrown: unknown) => this.#logClose(thrown));
		if (options.tidy) await this.tidy();
		await this.store.close().catch((thrown: unknown) => this.#logClose(thrown));
		await this.log.flush();
	}

	#logClose(thrown: unknown): void {
		this.log.write("close failed", { message: toCandyError(thrown).message });
	}
}

/** A forked session takes over the history of its parent, once, and only in the same working directory. */
async function inherit(store: CandyStore, options: LiveOptions, cwd: string): Promise<void> {
	const { parentFile, sessionId, log } = options;
	if ((await store.hasSession(sessionId)) || (parentFile ?? options.parent) === undefined) return;
	const origin = parentFile === undefined ? options.parent : await readOrigin(parentFile);
	if (origin === undefined || origin.id === sessionId) return;
	if (origin.cwd !== undefined && (await realpath(origin.cwd).catch(() => origin.cwd)) !== cwd) return;
	const result = await store.fork(origin.id, sessionId, cwd);
	log.write("fork", { from: origin.id, ...result });
}
