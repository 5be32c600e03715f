/** Writing files back, and saying what came of it. */
import type { LiveSession } from "./live.ts";
import { reasonText } from "./menu.ts";
import type { Ports } from "./ports.ts";
import type { PlanSummary, RestoreOutcome } from "./store.ts";
import type { Texts } from "./text/index.ts";

/** Characters of a point's id that people are asked to type. */
const POINT_ID_SHOWN = 12;

/** Runs `work` while pi's file tools keep away from all of the paths. */
function withFileQueues<T>(ports: Ports, paths: readonly string[], work: () => Promise<T>): Promise<T> {
	// Sorted, so that two restores never wait for each other crosswise.
	const enter = [...new Set(paths)]
		.sort()
		.reduceRight<() => Promise<T>>((inner, path) => () => ports.withFileQueue(path, inner), work);
	return enter();
}

export function applyPlan(ports: Ports, live: LiveSession, plan: PlanSummary): Promise<RestoreOutcome> {
	const paths = plan.files
		.filter((file) => file.action !== "skip" && file.action !== "unchanged")
		.map((file) => file.path);
	return withFileQueues(ports, paths, () => live.session.apply(plan.planId, live.settings.maxSnapshotsPerSession));
}

export function shortPoint(id: string): string {
	return id.slice(0, POINT_ID_SHOWN);
}

/** Which files failed, why, and how to get back to the state from before. */
export function failureText(texts: Texts, outcome: RestoreOutcome, command: "undo" | "redo"): string {
	const count = outcome.failed.length;
	const lines = [texts.t(command === "undo" ? "failed.title" : "failed.redoTitle", { count })];
	for (const file of outcome.failed) {
		lines.push(texts.t("failed.file", { path: file.display, reason: file.message }));
	}
	if (outcome.restored > 0) lines.push(texts.t("failed.others", { count: outcome.restored }));
	lines.push(texts.t("failed.wayBack", { command, point: shortPoint(outcome.redoPoint.id) }));
	return lines.join("\n");
}

/** Files left alone, with the reason of each. */
export function skippedLines(texts: Texts, plan: PlanSummary): string[] {
	const skipped = plan.files.filter((file) => file.action === "skip");
	if (skipped.length === 0) return [];
	const list = texts.list(skipped.map((file) => `${file.display} (${reasonText(texts, file.reason)})`));
	return [texts.t("result.skipped", { count: skipped.length, list })];
}

export function keptLines(texts: Texts, outcome: RestoreOutcome): string[] {
	const count = outcome.kept.length;
	return count === 0 ? [] : [texts.t("result.kept", { count, list: texts.list(outcome.kept) })];
}

/** Directories that the agent made for files that are gone again. They stay, since others may want them. */
export function emptiedLines(texts: Texts, outcome: RestoreOutcome): string[] {
	const count = outcome.emptied.length;
	return count === 0 ? [] : [texts.t("result.emptied", { count, list: texts.list(outcome.emptied) })];
}

/** The files that a plan writes, creates, deletes or gives another mode. */
export function writtenFiles(plan: PlanSummary): string[] {
	return plan.files.filter(({ action }) => action !== "skip" && action !== "unchanged").map(({ display }) => display);
}

/** Files whose hand-made changes were replaced. */
export function handChanged(plan: PlanSummary): string[] {
	return plan.files
		.filter((file) => file.changedByHand && file.action !== "skip" && file.action !== "unchanged")
		.map((file) => file.display);
}
