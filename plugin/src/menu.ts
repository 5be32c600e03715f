/** The menu shown after a message was chosen: title, files, actions. */
import { entryTime } from "./branch.ts";
import { gapList, type UndoRow } from "./rows.ts";
import type { PlanFile, PlanSummary } from "./store.ts";
import type { TextKey, Texts } from "./text/index.ts";

export type Action = "both" | "conversation" | "code" | "summarize" | "summarizeCustom" | "nothing";

const WITH_FILES: readonly Action[] = ["both", "conversation", "code", "summarize", "summarizeCustom", "nothing"];
const WITHOUT_FILES: readonly Action[] = ["conversation", "summarize", "summarizeCustom", "nothing"];

/** Files named in the menu; the rest is counted. */
const FILES_SHOWN_MAX = 8;

export function menuActions(plan: PlanSummary): readonly Action[] {
	return plan.changed > 0 ? WITH_FILES : WITHOUT_FILES;
}

export function actionLabel(texts: Texts, action: Action): string {
	return texts.t(`menu.${action}`);
}

export function reasonText(texts: Texts, reason: string | undefined): string {
	const key = `reason.${reason}`;
	return texts.has(key) ? texts.t(key) : texts.t("reason.unknown", { reason: reason ?? "?" });
}

function fileLine(texts: Texts, file: PlanFile): string {
	const values = {
		path: file.display,
		added: file.added,
		removed: file.removed,
		reason: file.action === "skip" ? reasonText(texts, file.reason) : "",
	};
	const key: TextKey = file.action === "unchanged" ? "file.modify" : `file.${file.action}`;
	const text = texts.t(key, values);
	return file.changedByHand ? texts.t("file.byHand", { text }) : text;
}

/** What would happen, by file; files changed by hand come first, because their loss would hurt most. */
export function fileLines(texts: Texts, plan: PlanSummary): string[] {
	const touched = plan.files.filter((file) => file.action !== "unchanged");
	const sorted = [
		...touched.filter((file) => file.changedByHand && file.action !== "skip"),
		...touched.filter((file) => !file.changedByHand && file.action !== "skip"),
		...touched.filter((file) => file.action === "skip"),
	];
	const lines = sorted.slice(0, FILES_SHOWN_MAX).map((file) => `  ${fileLine(texts, file)}`);
	const more = sorted.length - FILES_SHOWN_MAX;
	if (more > 0) lines.push(`  ${texts.t("menu.moreFiles", { count: more })}`);
	return lines;
}

export interface MenuFacts {
	row: UndoRow;
	plan: PlanSummary;
	/** Gaps of this turn and of all later ones. */
	gaps: readonly string[];
	now: number;
}

export function menuTitle(texts: Texts, { row, plan, gaps, now }: MenuFacts): string {
	const time = entryTime(row.entry);
	const lines = [texts.t("menu.title"), "", texts.t("menu.quote", { text: row.preview })];
	if (time !== undefined) lines.push(texts.t("menu.time", { ago: texts.ago(time, now) }));
	lines.push("");
	lines.push(plan.changed > 0 ? texts.t("menu.files", { count: plan.changed }) : texts.t("menu.noFiles"));
	lines.push(...fileLines(texts, plan));
	if (plan.fallback || !row.hasPoint) lines.push(texts.t("menu.fallback"));
	if (gaps.length > 0) lines.push(texts.t("menu.gaps", { list: gapList(texts, gaps) }));
	lines.push("", texts.t("menu.note"));
	return lines.join("\n");
}
