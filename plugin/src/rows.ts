/** Rows of the picker: one user message each, with what going back to before it would change. */
import { type BranchEntry, entryText, userMessages } from "./branch.ts";
import { toCandyError } from "./errors.ts";
import type { LiveSession } from "./live.ts";
import type { PlanSummary, Point } from "./store.ts";
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

export type RowPlan = PlanSummary | "pending" | "failed";

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
	const points = new Map<string, Point>();
	for (const point of await live.session.points()) if (point.entryId) points.set(point.entryId, point);
	const newest = userMessages(branch).reverse().slice(0, live.settings.pickerLimit);
	return newest.map((entry, at) => {
		const text = oneLine(entryText(entry));
		const point = points.get(entry.id);
		return {
			number: at + 1,
			entry,
			text,
			preview: cutColumns(text, PREVIEW_COLUMNS, columns) || live.texts.t("row.noText"),
			hasPoint: point !== undefined,
			gaps: live.operations.gapsOf(entry.id, point),
		};
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
		const approximate = plan.files.some((file) => file.approximate);
		parts.push(texts.t("row.files", { count: plan.changed }));
		parts.push(
			texts.t(approximate ? "row.linesApproximate" : "row.lines", { added: plan.added, removed: plan.removed }),
		);
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

/** Plans row after row, newest first, until the list is closed. */
export async function planRows(
	live: LiveSession,
	branch: readonly BranchEntry[],
	rows: readonly UndoRow[],
	found: (index: number, plan: RowPlan) => void,
	signal?: AbortSignal,
): Promise<void> {
	for (const [index, row] of rows.entries()) {
		if (signal?.aborted) return;
		let plan: RowPlan;
		try {
			plan = await planFor(live, branch, row.entry.id, true);
		} catch (thrown) {
			const error = toCandyError(thrown);
			live.log.write("plan failed", { entryId: row.entry.id, code: error.code, message: error.message });
			plan = "failed";
		}
		if (!signal?.aborted) found(index, plan);
	}
}
