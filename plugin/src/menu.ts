/** The menu shown after a message was chosen: title, files, actions. */
import { entryTime } from "./branch.ts";
import type { ListTitle, Piece, TitleLine } from "./ports.ts";
import { gapList, type UndoRow } from "./rows.ts";
import type { PlanFile, PlanSummary } from "./store.ts";
import type { TextKey, Texts } from "./text/index.ts";

export type Action = "both" | "conversation" | "code" | "summarize" | "summarizeCustom" | "nothing";

const WITH_FILES: readonly Action[] = ["both", "conversation", "code", "summarize", "summarizeCustom", "nothing"];
const WITHOUT_FILES: readonly Action[] = ["conversation", "summarize", "summarizeCustom", "nothing"];

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

/** What the lines of a file are, in the words of the menu. */
function changesText(texts: Texts, { added, removed, binary, approximate, action }: PlanFile): string {
	if (binary) return texts.t("file.binary");
	const values = { added, removed };
	if (action === "create") return texts.t("file.added", values);
	if (action === "delete") return texts.t("file.removed", values);
	return texts.t(approximate ? "file.linesApproximate" : "file.lines", values);
}

/** The path may be cut, what happens to it stays. */
export function filePiece(texts: Texts, file: PlanFile): Piece {
	const key: TextKey = file.action === "unchanged" ? "file.modify" : `file.${file.action}`;
	const reason = file.action === "skip" ? reasonText(texts, file.reason) : "";
	let suffix = texts.t(key, { changes: changesText(texts, file), reason });
	if (file.changedByHand && file.reason !== "changed-by-hand") suffix = texts.t("file.byHand", { text: suffix });
	return { text: file.display, suffix, cut: "start" };
}

/** Files that something happens to or that are left alone; those changed by hand first: their loss would hurt most. */
export function menuFiles(plan: PlanSummary): PlanFile[] {
	const touched = plan.files.filter((file) => file.action !== "unchanged");
	return [
		...touched.filter((file) => file.changedByHand && file.action !== "skip"),
		...touched.filter((file) => !file.changedByHand && file.action !== "skip"),
		...touched.filter((file) => file.action === "skip"),
	];
}

export interface MenuFacts {
	row: UndoRow;
	plan: PlanSummary;
	/** Gaps of this turn and of all later ones. */
	gaps: readonly string[];
	now: number;
}

export function menuTitle(texts: Texts, { row, plan, gaps, now }: MenuFacts): ListTitle {
	const blank: TitleLine = { text: "", kind: "blank" };
	const time = entryTime(row.entry);
	const head: TitleLine[] = [
		{ text: texts.t("menu.title"), kind: "heading" },
		blank,
		{ text: texts.t("menu.quote", { text: row.preview }), kind: "quote" },
	];
	if (time !== undefined) head.push({ text: texts.t("menu.time", { ago: texts.ago(time, now) }), kind: "time" });
	head.push(blank);
	head.push({ text: plan.changed > 0 ? texts.t("menu.files", { count: plan.changed }) : texts.t("menu.noFiles") });
	const tail: TitleLine[] = [];
	if (plan.fallback || !row.hasPoint) tail.push({ text: texts.t("menu.fallback"), kind: "fallback" });
	if (gaps.length > 0) tail.push({ text: texts.t("menu.gaps", { list: gapList(texts, gaps) }), kind: "gaps" });
	tail.push(blank, { text: texts.t("menu.note"), kind: "note" }, blank);
	return {
		head,
		details: menuFiles(plan).map((file) => () => filePiece(texts, file)),
		more: (count) => texts.t("menu.moreFiles", { count }),
		tail,
	};
}
