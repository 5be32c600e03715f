/** Rows of the picker: one user message each, with what going back to before it would change. */
import { type BranchEntry, entryText, entryTime, userMessages } from "./branch.ts";
import { toCandyError } from "./errors.ts";
import type { LiveSession } from "./live.ts";
import type { PlanSummary, Point, SurveyRow } from "./store.ts";
import type { Texts } from "./text/index.ts";

/** Columns of message text in a row. */
export const PREVIEW_COLUMNS = 60;

export interface UndoRow {
	/** Position in the list, from 1. */
	number: number;
	entry: BranchEntry;
	/** Text of the message on one line, cut to fit. */
	preview: string;
	text: string;
	hasPoint: boolean;
	/** Why this message's own turn is not fully covered. */
	gaps: string[];
}

export type RowPlan = SurveyRow | "pending" | "failed";

/** Rows counted first: those of the page that is on the screen. */
const FIRST_ROWS = 12;
/** Rows counted at a time after that: few enough that closing the list stops the work soon. */
const MORE_ROWS = 32;

/** Cuts at a grapheme boundary, so that no emoji or accent is torn apart. */
export function cutColumns(text: string, max: number, columns: (text: string) => number): string {
	if (columns(text) <= max) return text;
	let kept = "";
	let width = 0;
	for (const { segment } of new Intl.Segmenter().segment(text)) {
		width += columns(segment);
		if (width > max - 1) break;
		kept += segment;
	}
	return `${kept.trimEnd()}…`;
}

/** One line without control characters. */
export function oneLine(text: string): string {
	return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}

/** Newest message first, at most `limit`. */
export async function undoRows(
	live: LiveSession,
	branch: readonly BranchEntry[],
	columns: (text: string) => number,
): Promise<UndoRow[]> {
	const all = await live.session.points();
	const points = new Map<string, Point>();
	for (const point of all) if (point.entryId) points.set(point.entryId, point);
	const messages = userMessages(branch);
	const withoutHistory = new Set(messagesWithoutHistory(messages, points, all).map((entry) => entry.id));
	const newest = messages.reverse().slice(0, live.settings.pickerLimit);
	return newest.map((entry, at) => {
		const text = oneLine(entryText(entry));
		const point = points.get(entry.id);
		const gaps = live.operations.gapsOf(entry.id, point);
		return {
			number: at + 1,
			entry,
			text,
			preview: cutColumns(text, PREVIEW_COLUMNS, columns) || live.texts.t("row.noText"),
			hasPoint: point !== undefined,
			gaps: gaps.length === 0 && withoutHistory.has(entry.id) ? ["off"] : gaps,
		};
	});
}

/**
 * Messages whose turns nobody recorded: the history began after them, or was off for a while. A point that is missing
 * for another reason was dropped by the cap, and then those before it are missing, too.
 */
export function messagesWithoutHistory<E extends BranchEntry>(
	messages: readonly E[],
	points: ReadonlyMap<string, Point>,
	all: readonly Point[],
): E[] {
	const baseline = all.find((point) => point.kind === "baseline");
	const firstRecorded = messages.findIndex((entry) => points.has(entry.id));
	return messages.filter((entry, at) => {
		if (points.has(entry.id)) return false;
		const beforeHistory = baseline !== undefined && (entryTime(entry) ?? Infinity) < baseline.createdAt;
		return beforeHistory || (firstRecorded !== -1 && at > firstRecorded);
	});
}

/** Reasons why turns are not covered, in words. */
export function gapText(texts: Texts, gap: string): string {
	const key = `gap.${gap}`;
	return texts.has(key) ? texts.t(key) : texts.t("gap.tool", { name: gap.replace(/^tool:/, "") });
}

function changes(texts: Texts, plan: RowPlan): string[] {
	if (plan === "pending") return [texts.t("row.pending")];
	if (plan === "failed") return [texts.t("row.unknown")];
	const parts: string[] = [];
	if (plan.changed === 0) parts.push(texts.t("row.noChange"));
	else {
		const { added, removed } = plan;
		parts.push(texts.t("row.files", { count: plan.changed }));
		parts.push(texts.t(plan.approximate ? "row.linesApproximate" : "row.lines", { added, removed }));
	}
	if (plan.linksSkipped > 0) parts.push(texts.t("row.links", { count: plan.linksSkipped }));
	if (plan.otherSkipped > 0) parts.push(texts.t("row.skipped", { count: plan.otherSkipped }));
	return parts;
}

/** `N. text · F files · +a -b`, then whatever else the user should know before choosing. */
export function rowLabel(texts: Texts, row: UndoRow, plan: RowPlan): string {
	const parts = [`${row.number}. ${row.preview}`, ...changes(texts, plan)];
	if (!row.hasPoint) parts.push(texts.t("row.noSnapshot"));
	if (row.gaps.length > 0) parts.push(texts.t("row.gaps", { list: gapList(texts, row.gaps) }));
	return parts.join(" · ");
}

export function gapList(texts: Texts, gaps: readonly string[]): string {
	return texts.list([...new Set(gaps)].map((gap) => gapText(texts, gap)));
}

/** What going back to before a message would do. */
export function planFor(
	live: LiveSession,
	branch: readonly BranchEntry[],
	entryId: string,
	lineCounts: boolean,
): Promise<PlanSummary> {
	return live.session.plan({
		entryId,
		branch: branch.map((entry) => entry.id),
		lineCounts,
		protectManualEdits: live.settings.protectManualEdits,
	});
}

/** Counts all rows from one look at the files, the newest first, until the list is closed. */
export async function countRows(
	live: LiveSession,
	branch: readonly BranchEntry[],
	rows: readonly UndoRow[],
	found: (index: number, plan: RowPlan) => void,
	signal?: AbortSignal,
): Promise<void> {
	const failed = (thrown: unknown): void => {
		const { code, message } = toCandyError(thrown);
		live.log.write("survey failed", { code, message });
	};
	let survey: number | undefined;
	try {
		survey = await live.session.survey();
	} catch (thrown) {
		failed(thrown);
	}
	const options = { branch: branch.map((entry) => entry.id), protectManualEdits: live.settings.protectManualEdits };
	for (let from = 0; from < rows.length && !signal?.aborted; ) {
		const part = rows.slice(from, from + (from === 0 ? FIRST_ROWS : MORE_ROWS));
		let counts: readonly SurveyRow[] = [];
		try {
			const entryIds = part.map((row) => row.entry.id);
			if (survey !== undefined) counts = await live.session.surveyRows(survey, { ...options, entryIds });
		} catch (thrown) {
			failed(thrown);
		}
		if (signal?.aborted) return;
		for (const [at] of part.entries()) {
			const row = counts[at];
			found(from + at, row === undefined || row.error !== undefined ? "failed" : row);
		}
		from += part.length;
	}
}
