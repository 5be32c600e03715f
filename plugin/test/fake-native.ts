/**
 * A stand-in for the addon: the same contract, kept in memory, with ways to make it fail. It restores real files in
 * test folders, but makes nothing durable and covers only what the plugin's own logic needs.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type * as Native from "../native/index.d.ts";
import type { NativeModule } from "../src/native.ts";

interface FakePoint extends Native.Point {
	contents: Map<string, string | null>;
}

interface SessionData {
	cwd: string;
	points: FakePoint[];
	originals: Map<string, string | null>;
	agentSaw: Map<string, string | null>;
	redo: Native.RedoItem[];
	unfinished: Native.UnfinishedRestore[];
}

export function fakeError(code: string, message: string, path?: string): Error {
	return Object.assign(new Error(message), { code, hint: "try again", ...(path === undefined ? {} : { path }) });
}

function resolved(path: string): string {
	if (existsSync(path)) return realpathSync(path);
	const parent = dirname(path);
	return parent === path ? path : join(resolved(parent), basename(path));
}

function contentOf(path: string): string | null {
	return existsSync(path) ? readFileSync(path, "utf8") : null;
}

const lineCount = (text: string | null): number => (text === null ? 0 : text.split("\n").filter(Boolean).length);

/** All stores of one test, by path; `fail` maps a method to the error that it is to reject with. */
export class FakeDisk {
	readonly stores = new Map<string, Map<string, SessionData>>();
	readonly fail = new Map<string, Error>();
	readonly calls: string[] = [];
	readonly glimpsed: string[] = [];
	readonly failedPaths = new Set<string>();
	readonly opened: Native.SessionOptions[] = [];
	/** What plans were asked for, those that only count rows left out. */
	readonly planned: Native.PlanOptions[] = [];
	nextId = 1;

	module(): NativeModule {
		const disk = this;
		class Store {
			static async open(options: Native.StoreOptions): Promise<Native.Store> {
				disk.enter("open");
				const sessions = disk.stores.get(options.path) ?? new Map<string, SessionData>();
				disk.stores.set(options.path, sessions);
				return new FakeStore(disk, options.path, sessions);
			}
		}
		class Session {}
		return { Store, Session, version: () => "fake" } as unknown as NativeModule;
	}

	enter(method: string): void {
		this.calls.push(method);
		const error = this.fail.get(method);
		if (error !== undefined) throw error;
	}

	count(method: string): number {
		return this.calls.filter((call) => call === method).length;
	}
}

class FakeStore implements Native.Store {
	readonly #disk: FakeDisk;
	readonly #path: string;
	readonly #sessions: Map<string, SessionData>;

	constructor(disk: FakeDisk, path: string, sessions: Map<string, SessionData>) {
		this.#disk = disk;
		this.#path = path;
		this.#sessions = sessions;
	}

	info(): Native.StoreInfo {
		return { id: "0".repeat(32), path: this.#path, created: false, formatVersion: 1 };
	}

	async hasSession(id: string): Promise<boolean> {
		return this.#sessions.has(id);
	}

	async openSession(options: Native.SessionOptions): Promise<Native.Session> {
		this.#disk.enter("openSession");
		this.#disk.opened.push(options);
		const { id, cwd } = options;
		const created = !this.#sessions.has(id);
		const data = this.#sessions.get(id) ?? {
			cwd,
			points: [],
			originals: new Map(),
			agentSaw: new Map(),
			redo: [],
			unfinished: [],
		};
		this.#sessions.set(id, data);
		return new FakeSession(this.#disk, id, data, created);
	}

	async fork(from: string, to: string, cwd: string): Promise<Native.ForkResult> {
		this.#disk.enter("fork");
		const source = this.#sessions.get(from);
		if (source === undefined || source.cwd !== cwd || this.#sessions.has(to)) return { forked: false, points: 0 };
		this.#sessions.set(to, { ...structuredClone(source), redo: [] });
		return { forked: true, points: source.points.length };
	}

	async expireSessions(): Promise<number> {
		this.#disk.enter("expireSessions");
		return 0;
	}

	async gc(): Promise<Native.GcReport> {
		this.#disk.enter("gc");
		return { ran: false, droppedObjects: 0, freedBytes: 0, rewrittenSegments: 0 };
	}

	async close(): Promise<void> {
		this.#disk.enter("closeStore");
	}
}

class FakeSession implements Native.Session {
	readonly #disk: FakeDisk;
	readonly #id: string;
	readonly #data: SessionData;
	readonly #created: boolean;
	readonly #plans = new Map<number, { files: Native.PlanFile[]; target: Map<string, string | null> }>();

	constructor(disk: FakeDisk, id: string, data: SessionData, created: boolean) {
		this.#disk = disk;
		this.#id = id;
		this.#data = data;
		this.#created = created;
	}

	info(): Native.SessionInfo {
		const { points, originals, unfinished } = this.#data;
		return { id: this.#id, created: this.#created, points: points.length, trackedFiles: originals.size, unfinished };
	}

	async track(path: string): Promise<Native.TrackResult> {
		this.#disk.enter("track");
		const real = resolved(path);
		if (real.endsWith(".lock")) return { status: "skipped", reason: "excluded", path: real, cacheable: true };
		if (existsSync(real) && !lstatSync(real).isFile()) {
			return { status: "skipped", reason: "not-a-file", path: real, cacheable: false };
		}
		const cacheable = real === path;
		if (this.#data.originals.has(real)) return { status: "already", path: real, cacheable };
		this.#data.originals.set(real, contentOf(real));
		return { status: "tracked", path: real, cacheable, absent: !existsSync(real) };
	}

	async toolDone(path: string, failed: boolean): Promise<void> {
		this.#disk.enter("toolDone");
		const real = resolved(path);
		const now = contentOf(real);
		if (failed && !this.#data.agentSaw.has(real) && this.#data.originals.get(real) === now) {
			this.#data.originals.delete(real);
		} else this.#data.agentSaw.set(real, now);
	}

	async glimpse(paths: string[]): Promise<number> {
		this.#disk.enter("glimpse");
		this.#disk.glimpsed.push(...paths);
		return this.#disk.glimpsed.length;
	}

	async snapshot(options: Native.SnapshotOptions): Promise<Native.SnapshotResult> {
		this.#disk.enter("snapshot");
		return { point: this.#addPoint(options), notCaptured: [], dropped: 0 };
	}

	#addPoint(options: Omit<Native.SnapshotOptions, "maxPoints">): FakePoint {
		const contents = new Map([...this.#data.originals.keys()].map((path) => [path, contentOf(path)]));
		const point: FakePoint = {
			id: (this.#disk.nextId++).toString(16).padStart(32, "0"),
			seq: this.#data.points.length + 1,
			kind: options.kind,
			createdAt: Date.now(),
			files: contents.size,
			changed: 0,
			gaps: [],
			contents,
			...(options.entryId === undefined ? {} : { entryId: options.entryId }),
			...(options.prompt === undefined ? {} : { prompt: options.prompt }),
		};
		this.#data.points.push(point);
		return point;
	}

	async bind(pointId: string, entryId: string): Promise<void> {
		this.#disk.enter("bind");
		this.#point(pointId).entryId = entryId;
	}

	async addGaps(pointId: string, gaps: string[]): Promise<void> {
		this.#disk.enter("addGaps");
		this.#point(pointId).gaps.push(...gaps);
	}

	#point(id: string): FakePoint {
		const point = this.#data.points.find((one) => one.id === id);
		if (point === undefined) throw fakeError("CANDY_NOT_FOUND", `no point ${id}`);
		return point;
	}

	async points(): Promise<Native.Point[]> {
		return structuredClone(this.#data.points);
	}

	async plan(options: Native.PlanOptions): Promise<Native.PlanSummary> {
		this.#disk.planned.push(options);
		return this.#plan(options);
	}

	#plan(options: Native.PlanOptions): Native.PlanSummary {
		this.#disk.enter("plan");
		const exact = this.#data.points.find((point) => point.entryId !== undefined && point.entryId === options.entryId);
		const older = (options.branch ?? []).slice(0, (options.branch ?? []).indexOf(options.entryId ?? ""));
		const near = this.#data.points.findLast((point) => point.entryId !== undefined && older.includes(point.entryId));
		const point = options.pointId === undefined ? (exact ?? near) : this.#point(options.pointId);
		const target = new Map([...this.#data.originals, ...(point?.contents ?? [])]);
		const files: Native.PlanFile[] = [];
		for (const [path, wanted] of target) {
			const now = contentOf(path);
			if (now === wanted) continue;
			files.push({
				path,
				display: relative(this.#data.cwd, path).startsWith("..") ? path : relative(this.#data.cwd, path),
				action: wanted === null ? "delete" : now === null ? "create" : "modify",
				added: lineCount(wanted),
				removed: lineCount(now),
				binary: false,
				approximate: false,
				changedByHand: this.#data.agentSaw.has(path) && this.#data.agentSaw.get(path) !== now,
			});
		}
		const planId = this.#disk.nextId++;
		this.#plans.set(planId, { files, target });
		return {
			planId,
			files,
			changed: files.length,
			added: files.reduce((sum, file) => sum + file.added, 0),
			removed: files.reduce((sum, file) => sum + file.removed, 0),
			linksSkipped: 0,
			otherSkipped: 0,
			fallback: options.pointId === undefined && exact === undefined,
			...(point === undefined ? {} : { pointId: point.id }),
		};
	}

	async survey(): Promise<number> {
		this.#disk.enter("survey");
		return 1;
	}

	async surveyRows(_survey: number, options: Native.SurveyOptions): Promise<Native.SurveyRow[]> {
		this.#disk.enter("surveyRows");
		const row = async (entryId: string): Promise<Native.SurveyRow> => {
			const plan = this.#plan({ entryId, branch: options.branch, lineCounts: true });
			const { pointId, fallback, changed, added, removed, linksSkipped, otherSkipped, files } = plan;
			return {
				...(pointId === undefined ? {} : { pointId }),
				...{ fallback, changed, added, removed, linksSkipped, otherSkipped },
				approximate: false,
				changedByHand: files.filter((file) => file.changedByHand).length,
			};
		};
		return Promise.all(options.entryIds.map(row));
	}

	async diff(): Promise<string> {
		return "";
	}

	async apply(planId: number): Promise<Native.RestoreOutcome> {
		this.#disk.enter("apply");
		const plan = this.#plans.get(planId);
		if (plan === undefined) throw fakeError("CANDY_NOT_FOUND", `no plan ${planId}`);
		const redoPoint = this.#addPoint({ kind: "redo-point" });
		const outcome: Native.RestoreOutcome = {
			redoPoint,
			restored: 0,
			unchanged: 0,
			skipped: 0,
			failed: [],
			kept: [],
			emptied: [],
		};
		for (const { path, display } of plan.files) {
			if (this.#disk.failedPaths.has(basename(path))) {
				outcome.failed.push({ path, display, code: "CANDY_IO", message: "file is busy" });
				continue;
			}
			const wanted = plan.target.get(path) ?? null;
			if (wanted === null) {
				rmSync(path, { force: true });
				if (readdirSync(dirname(path)).length === 0) {
					outcome.emptied.push(relative(this.#data.cwd, dirname(path)));
				}
			} else {
				mkdirSync(dirname(path), { recursive: true });
				writeFileSync(path, wanted);
			}
			this.#data.agentSaw.set(path, wanted);
			outcome.restored++;
		}
		return outcome;
	}

	async resumeRestore(id: string): Promise<Native.RestoreOutcome> {
		this.#disk.enter("resumeRestore");
		this.#data.unfinished = this.#data.unfinished.filter((one) => one.id !== id);
		return {
			redoPoint: this.#addPoint({ kind: "redo-point" }),
			restored: 1,
			unchanged: 0,
			skipped: 0,
			failed: [],
			kept: [],
			emptied: [],
		};
	}

	async redoPush(item: {
		type: Native.RedoType;
		pointId?: string;
		oldLeafId?: string;
		maxItems: number;
	}): Promise<void> {
		this.#disk.enter("redoPush");
		const { maxItems, ...rest } = item;
		this.#data.redo.push({ ...rest, createdAt: Date.now() });
		this.#data.redo.splice(0, Math.max(0, this.#data.redo.length - maxItems));
	}

	async redoPeek(): Promise<Native.RedoItem | null> {
		return this.#data.redo.at(-1) ?? null;
	}

	async redoPop(): Promise<void> {
		this.#data.redo.pop();
	}

	async redoClear(): Promise<void> {
		this.#data.redo.length = 0;
	}

	async close(): Promise<void> {
		this.#disk.enter("closeSession");
	}
}
