/**
 * Types of the native addon. Written by hand; `plugin/native/src` implements them.
 *
 * Every method that can touch the disk returns a promise and runs off the caller's thread. A rejected promise carries
 * an `Error` with `code` (stable, `CANDY_*`), `hint` (what to do next) and, where there is one, `path`.
 * Paths are absolute strings in the encoding of the file system. Times are milliseconds since 1970.
 */

export interface NativeError extends Error {
	code: string;
	hint?: string;
	path?: string;
}

export interface StoreOptions {
	/** Directory of the store; created (0700) when missing. */
	path: string;
	/** Folder the agent works in. A store inside it (by identity, not by name) is refused: `CANDY_STORE_IN_WORKSPACE`. */
	workspace?: string;
	/** How long to wait for a lock that another process holds before giving up with `CANDY_LOCK_TIMEOUT`. Default 5000. */
	lockWaitMs?: number;
}

export interface SessionOptions {
	/** pi's session id. */
	id: string;
	/** Fully resolved working directory; paths below it are stored relative to it. */
	cwd: string;
	/** gitignore-like patterns, already merged with the defaults; last match wins, `!` re-includes. */
	exclude: string[];
	/** Files larger than this are recorded as "too large", never read. 0 = no limit. */
	maxFileSizeBytes: number;
}

export type TrackStatus =
	/** Captured just now; the pre-image is durable. */
	| "tracked"
	/** Was tracked before: nothing was done. */
	| "already"
	/** Not captured; `reason` says why. */
	| "skipped";

export type SkipReason = "excluded" | "too-large" | "not-a-file" | "symlink" | "hard-link" | "store" | "unreadable" | "unstable";

export interface TrackResult {
	status: TrackStatus;
	reason?: SkipReason;
	/** The path after every symbolic link was followed: the identity of the file. */
	path: string;
	/** True when `track` may be skipped for this spelling from now on: no link lies on the way. */
	cacheable: boolean;
	/** True when the file did not exist: undo will delete it. */
	absent?: boolean;
	sizeBytes?: number;
	detail?: string;
}

export type PointKind = "baseline" | "operation" | "redo-point" | "manual" | "kept";

export interface SnapshotOptions {
	kind: PointKind;
	/** Text of the prompt; the first 200 characters are kept. */
	prompt?: string;
	/** The entry to bind to, if it is known already. */
	entryId?: string;
	/** Oldest unprotected points above this number are dropped. 0 = no cap. */
	maxPoints: number;
}

export interface NotCaptured {
	path: string;
	reason: SkipReason;
	detail?: string;
}

export interface Point {
	/** 32 hex digits, unique in the store. */
	id: string;
	/** Rises by one with each point of a session. */
	seq: number;
	kind: PointKind;
	createdAt: number;
	/** The user message this point is the state before of. */
	entryId?: string;
	prompt?: string;
	/** Tracked paths in it, absent ones included. */
	files: number;
	/** Paths that differ from the point before. */
	changed: number;
	/** Why the turn that follows is not fully covered: "bash", "too-large", "store" ... */
	gaps: string[];
}

export interface SnapshotResult {
	point: Point;
	notCaptured: NotCaptured[];
	/** Points that the cap dropped. */
	dropped: number;
}

export type FileAction = "create" | "modify" | "delete" | "chmod" | "unchanged" | "skip";

export interface PlanFile {
	path: string;
	/** Relative to the working directory when inside it, else absolute. */
	display: string;
	action: FileAction;
	/** For `skip`. */
	reason?: SkipReason | "not-captured" | "was-too-large" | "purged" | "no-pre-image" | "missing-content" | "changed-by-hand";
	added: number;
	removed: number;
	binary: boolean;
	/** The diff ran into its deadline: the counts are approximate. */
	approximate: boolean;
	/** Changed since the agent's last edit, by hand or by a program. */
	changedByHand: boolean;
}

export interface PlanSummary {
	/** Names the plan for `apply` and `diff`. Valid until the session is closed or 16 newer plans were made. */
	planId: number;
	/** The point whose state is planned; undefined when originals alone are used. */
	pointId?: string;
	/** Files that would be written, created, deleted or get another mode, and those that are skipped, with the reason. */
	files: PlanFile[];
	changed: number;
	added: number;
	removed: number;
	/** Links (symbolic or hard) left alone. */
	linksSkipped: number;
	/** Everything else left alone. */
	otherSkipped: number;
	/** True when the point asked for is gone and an older one or the originals stand in for it. */
	fallback: boolean;
}

export interface PlanOptions {
	/**
	 * The state to go back to. `pointId`: that point. `entryId`: the point bound to that user message, else the nearest
	 * older point of the session, else the originals.
	 */
	pointId?: string;
	entryId?: string;
	/** Entry ids of the current branch, oldest first: "older" means earlier on this branch. */
	branch?: string[];
	/** Count lines. Costs a diff for each changed file. */
	lineCounts: boolean;
	/** Skip files that were changed by hand since the agent's last edit. */
	protectManualEdits?: boolean;
}

/** What going back to before a message would change, from one look at the files. */
export interface SurveyRow {
	/** Set when the state cannot be read; nothing else is known then. */
	error?: string;
	/** As in a plan. */
	pointId?: string;
	fallback: boolean;
	changed: number;
	added: number;
	removed: number;
	/** The line counts are not exact. */
	approximate: boolean;
	/** Files among the changed ones that were changed since the agent's last edit, by hand or by a program. */
	changedByHand: number;
	linksSkipped: number;
	otherSkipped: number;
}

export interface SurveyOptions {
	/** The user messages to go back to before, see `PlanOptions.entryId`. */
	entryIds: string[];
	branch: string[];
	protectManualEdits?: boolean;
}

export interface FailedFile {
	path: string;
	display: string;
	code: string;
	message: string;
}

export interface RestoreOutcome {
	/** State before the restore; always taken, kept even when the restore fails. */
	redoPoint: Point;
	restored: number;
	unchanged: number;
	skipped: number;
	failed: FailedFile[];
	/** Paths whose bytes changed between plan and write; the bytes found were kept as a version. */
	kept: string[];
	/** Directories that deletions left empty, relative to the working directory when inside it. They stay. */
	emptied: string[];
}

export type RedoType = "code" | "conversation" | "both";

export interface RedoItem {
	type: RedoType;
	/** Point to restore; missing for `conversation`. */
	pointId?: string;
	/** Leaf of the conversation before the undo. */
	oldLeafId?: string;
	createdAt: number;
}

export interface UnfinishedRestore {
	id: string;
	sessionId: string;
	createdAt: number;
	files: number;
	redoPointId: string;
}

export interface GcReport {
	/** False when it was not due, or another process is at it. */
	ran: boolean;
	droppedObjects: number;
	freedBytes: number;
	rewrittenSegments: number;
	/** Why nothing may be deleted at present (known damage), if so. */
	heldBack?: string;
}

export interface StoreInfo {
	id: string;
	path: string;
	/** 1 = created by this open. */
	created: boolean;
	formatVersion: number;
	/** Set when the store may be read but not written (newer features, read-only file system). */
	readOnlyReason?: string;
}

export interface ForkResult {
	/** False when the source has no history here, or the cwd differs, or the new session has one already. */
	forked: boolean;
	points: number;
}

export interface SessionInfo {
	id: string;
	/** True when this call made it. */
	created: boolean;
	points: number;
	trackedFiles: number;
	unfinished: UnfinishedRestore[];
}

export class Store {
	/** Opens or creates. */
	static open(options: StoreOptions): Promise<Store>;
	info(): StoreInfo;
	/** Whether the store has history of that session. */
	hasSession(id: string): Promise<boolean>;
	/** Opens a session, making its row when missing. */
	openSession(options: SessionOptions): Promise<Session>;
	/** Copies points, originals and tracked paths to a new session, sharing every blob; the redo stack is left behind. */
	fork(from: string, to: string, cwd: string): Promise<ForkResult>;
	/** Drops sessions whose last event is older than `days` (never an open one, never the newest 20). Returns how many. */
	expireSessions(days: number): Promise<number>;
	/** Collects garbage in slices. `force` ignores whether it is due. */
	gc(force: boolean): Promise<GcReport>;
	/** Seals the segment and closes the index. Further calls reject with `CANDY_CLOSED`. */
	close(): Promise<void>;
}

export class Session {
	info(): SessionInfo;
	/** Before a tool runs: makes the file's pre-image durable if the path is new. */
	track(path: string): Promise<TrackResult>;
	/**
	 * After a tool ran: notes what the file looks like, so that later changes by hand are known. With `failed`, a path
	 * that this turn tracked for the first time and that is unchanged is forgotten again.
	 */
	toolDone(path: string, failed: boolean): Promise<void>;
	/**
	 * Before a shell runs: remembers the contents of files that its command names, in memory and until the next point. A
	 * tool that then creates one of them anew is known to have replaced it. Resolves with how many are remembered.
	 */
	glimpse(paths: string[]): Promise<number>;
	/** Captures every tracked path as it is now. One durable transaction. */
	snapshot(options: SnapshotOptions): Promise<SnapshotResult>;
	/** Binds a point to the user message it precedes. */
	bind(pointId: string, entryId: string): Promise<void>;
	/** Adds reasons why the turn after a point is not fully covered. */
	addGaps(pointId: string, gaps: string[]): Promise<void>;
	/** All points, oldest first. */
	points(): Promise<Point[]>;
	/** What going back would do. Writes nothing. */
	plan(options: PlanOptions): Promise<PlanSummary>;
	/** Looks at the tracked files. The answer names this look for `surveyRows`, until the next one. */
	survey(): Promise<number>;
	/** What going back to each of many states would change. For choosing: `plan` looks at the files again. */
	surveyRows(survey: number, options: SurveyOptions): Promise<SurveyRow[]>;
	/** Unified diff of one file of a plan: current content -> planned content. Empty for binary files. */
	diff(planId: number, path: string): Promise<string>;
	/** Takes the redo point, then restores file by file. `maxPoints` as in `snapshot`. */
	apply(planId: number, options: { maxPoints: number }): Promise<RestoreOutcome>;
	/** Finishes or takes back a restore that a crash interrupted. */
	resumeRestore(id: string, how: "finish" | "rollback"): Promise<RestoreOutcome>;
	redoPush(item: { type: RedoType; pointId?: string; oldLeafId?: string; maxItems: number }): Promise<void>;
	redoPeek(): Promise<RedoItem | null>;
	redoPop(): Promise<void>;
	redoClear(): Promise<void>;
	close(): Promise<void>;
}

/** Version of the addon's crate. */
export function version(): string;
