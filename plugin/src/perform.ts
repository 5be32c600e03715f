/** Carries out the action chosen in the menu. Files first: if they fail, the conversation stays. */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { BranchEntry } from "./branch.ts";
import type { LiveSession } from "./live.ts";
import type { Action } from "./menu.ts";
import { markFiles, type Navigation, rewindTo, type Summary } from "./navigate.ts";
import type { Level } from "./notices.ts";
import type { Ports } from "./ports.ts";
import { applyPlan, emptiedLines, failureText, handChanged, keptLines, skippedLines, writtenFiles } from "./restore.ts";
import { gapList, planFor, type UndoRow } from "./rows.ts";
import type { RedoType } from "./store.ts";

export interface Task {
	pi: ExtensionAPI;
	ports: Ports;
	ctx: ExtensionCommandContext;
	live: LiveSession;
	branch: readonly BranchEntry[];
	row: UndoRow;
	/** Gaps of this turn and of all later ones. */
	gaps: readonly string[];
}

interface Report {
	lines: string[];
	level: Level;
}

interface FilesDone {
	/** Undefined: nothing had to be written, so there is nothing to redo. */
	redoPointId: string | undefined;
	/** As people read their paths. */
	written: string[];
}

function worse(report: Report, level: Level): void {
	if (report.level === "info") report.level = level;
}

/** Undefined when files failed: then everything was said already and the undo stops. */
async function restoreFiles(task: Task, report: Report): Promise<FilesDone | undefined> {
	const { ports, live, branch, row } = task;
	const { texts } = live;
	// Planned anew: files may have changed while the dialogs were open.
	const plan = await planFor(live, branch, row.entry.id, false);
	const skipped = skippedLines(texts, plan);
	if (plan.changed === 0) {
		report.lines.push(texts.t("result.alreadyThere"), ...skipped);
		return { redoPointId: undefined, written: [] };
	}
	const outcome = await applyPlan(ports, live, plan);
	live.log.write("restored", { entryId: row.entry.id, restored: outcome.restored, failed: outcome.failed.length });
	if (outcome.failed.length > 0) {
		report.lines.push(failureText(texts, outcome, "undo"));
		report.level = "error";
		return undefined;
	}
	const byHand = handChanged(plan);
	const kept = keptLines(texts, outcome);
	report.lines.push(texts.t("result.restored", { count: outcome.restored }));
	if (byHand.length > 0)
		report.lines.push(texts.t("result.byHand", { count: byHand.length, list: texts.list(byHand) }));
	report.lines.push(...kept, ...emptiedLines(texts, outcome), ...skipped);
	if (task.gaps.length > 0) report.lines.push(texts.t("result.gaps", { list: gapList(texts, task.gaps) }));
	if (byHand.length + kept.length + skipped.length > 0) worse(report, "warning");
	return { redoPointId: outcome.redoPoint.id, written: writtenFiles(plan) };
}

function reportNavigation(task: Task, report: Report, navigation: Navigation, summarized: boolean): void {
	const { texts } = task.live;
	if (navigation.outcome === "moved") {
		const key = summarized ? "result.summarized" : "result.conversation";
		report.lines.push(texts.t(key, { text: task.row.preview }));
		return;
	}
	report.lines.push(
		navigation.outcome === "cancelled"
			? texts.t("result.navigationCancelled")
			: texts.t("result.navigationFailed", { reason: navigation.reason }),
	);
	worse(report, navigation.outcome === "cancelled" ? "warning" : "error");
}

async function pushRedo(task: Task, pointId: string | undefined, navigation: Navigation | undefined): Promise<void> {
	const oldLeafId = navigation?.outcome === "moved" ? navigation.oldLeafId : undefined;
	if (pointId === undefined && oldLeafId === undefined) return;
	const type: RedoType = pointId === undefined ? "conversation" : oldLeafId === undefined ? "code" : "both";
	await task.live.session.redoPush({
		type,
		...(pointId === undefined ? {} : { pointId }),
		...(oldLeafId === undefined ? {} : { oldLeafId }),
		maxItems: task.live.settings.maxRedoStackSize,
	});
}

async function rewind(task: Task, summary: Summary | undefined): Promise<Navigation> {
	const { pi, ctx, live, row } = task;
	if (summary !== undefined) ctx.ui.setStatus("candy-undo-summary", live.texts.t("summary.working"));
	try {
		return await rewindTo(pi, ctx, { entryId: row.entry.id, preview: row.preview }, summary);
	} finally {
		if (summary !== undefined) ctx.ui.setStatus("candy-undo-summary", undefined);
	}
}

/** The instructions for a summary; undefined when the user thought better of it. */
async function askInstructions(task: Task): Promise<Summary | undefined> {
	const instructions = await task.ctx.ui.input(task.live.texts.t("summary.prompt"));
	return instructions === undefined || instructions.trim() === "" ? undefined : { instructions };
}

export async function perform(task: Task, action: Exclude<Action, "nothing">): Promise<void> {
	const { ctx, live } = task;
	const { texts } = live;
	let summary: Summary | undefined;
	if (action === "summarize") summary = { instructions: undefined };
	if (action === "summarizeCustom") {
		summary = await askInstructions(task);
		if (summary === undefined) return ctx.ui.notify(texts.t("result.cancelled"), "info");
	}
	// A run may have started while the dialogs were open; nothing may be touched then.
	if (!ctx.isIdle()) return ctx.ui.notify(texts.t("busy.running"), "warning");

	const report: Report = { lines: [], level: "info" };
	let files: FilesDone | undefined = { redoPointId: undefined, written: [] };
	if (action === "both" || action === "code") files = await restoreFiles(task, report);
	let navigation: Navigation | undefined;
	if (files !== undefined && action !== "code") {
		navigation = await rewind(task, summary);
		reportNavigation(task, report, navigation, summary !== undefined);
		if (navigation.outcome !== "moved" && files.redoPointId !== undefined) {
			report.lines.push(texts.t("result.filesOnly"));
		}
	}
	// Before anything is said: what was said must be true even if pi dies the next moment.
	if (files !== undefined) await pushRedo(task, files.redoPointId, navigation);
	ctx.ui.notify(report.lines.join("\n"), report.level);
	if (files !== undefined && files.written.length > 0 && navigation?.outcome !== "moved") {
		markFiles(task.pi, { kind: "code", text: task.row.preview, files: files.written });
	}
}
