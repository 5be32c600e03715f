/** The `/redo` command: takes back the last `/undo`. */
import type { ExtensionAPI, ExtensionCommandContext, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { CandyError } from "./errors.ts";
import { toCandyError } from "./errors.ts";
import type { LiveSession } from "./live.ts";
import { markFiles, returnTo } from "./navigate.ts";
import type { Level } from "./notices.ts";
import { mentionsEntry } from "./origin.ts";
import type { Ports } from "./ports.ts";
import { applyPlan, emptiedLines, failureText, handChanged, keptLines, shortPoint, skippedLines, writtenFiles } from "./restore.ts";
import type { PlanSummary, RedoItem } from "./store.ts";

interface Redone {
	lines: string[];
	level: Level;
	/** False: files failed, and the item stays so that the redo can be repeated. */
	done: boolean;
	/** As people read their paths. */
	written: string[];
}

/** The plan of the state before the undo; undefined when the store no longer has it. */
async function planBack(live: LiveSession, pointId: string): Promise<PlanSummary | undefined> {
	try {
		return await live.session.plan({ pointId, lineCounts: false });
	} catch (thrown) {
		const error: CandyError = toCandyError(thrown);
		if (error.code === "CANDY_NOT_FOUND") return undefined;
		throw error;
	}
}

async function putFilesBack(ports: Ports, live: LiveSession, plan: PlanSummary): Promise<Redone> {
	const { texts } = live;
	const skipped = skippedLines(texts, plan);
	if (plan.changed === 0) return { lines: [texts.t("result.alreadyThere"), ...skipped], level: "info", done: true, written: [] };
	const outcome = await applyPlan(ports, live, plan);
	live.log.write("redone", { restored: outcome.restored, failed: outcome.failed.length });
	if (outcome.failed.length > 0) {
		return { lines: [failureText(texts, outcome, "redo")], level: "error", done: false, written: [] };
	}
	const lines = [texts.t("result.redoneFiles", { count: outcome.restored })];
	const byHand = handChanged(plan);
	if (byHand.length > 0) {
		const values = { count: byHand.length, list: texts.list(byHand), point: shortPoint(outcome.redoPoint.id) };
		lines.push(texts.t("result.byHandRedo", values));
	}
	const kept = keptLines(texts, outcome);
	lines.push(...kept, ...emptiedLines(texts, outcome), ...skipped);
	const level: Level = byHand.length + kept.length + skipped.length > 0 ? "warning" : "info";
	return { lines, level, done: true, written: writtenFiles(plan) };
}

/** Moves the conversation; what could not be moved stays on the stack as a conversation of its own. */
async function moveBack(
	pi: ExtensionAPI,
	ctx: ExtensionCommandContext,
	live: LiveSession,
	leafId: string,
	redone: Redone,
): Promise<void> {
	const { texts } = live;
	const navigation = await returnTo(pi, ctx, leafId);
	if (navigation.outcome === "moved") {
		await live.session.redoPop();
		redone.lines.push(texts.t("result.redoneConversation"));
		return;
	}
	await live.session.redoPop();
	const { maxRedoStackSize } = live.settings;
	await live.session.redoPush({ type: "conversation", oldLeafId: leafId, maxItems: maxRedoStackSize });
	redone.lines.push(
		navigation.outcome === "cancelled"
			? texts.t("result.navigationCancelled")
			: texts.t("result.navigationFailed", { reason: navigation.reason }),
	);
	redone.level = "warning";
}

async function redoItem(
	pi: ExtensionAPI,
	ports: Ports,
	ctx: ExtensionCommandContext,
	live: LiveSession,
	item: RedoItem,
): Promise<void> {
	const { texts, session } = live;
	const drop = async (key: "redo.entryGone" | "redo.pointGone"): Promise<void> => {
		await session.redoPop();
		ctx.ui.notify(texts.t(key), "warning");
	};
	const leafId = item.oldLeafId ?? undefined;
	const pointId = item.pointId ?? undefined;
	if (leafId !== undefined && ctx.sessionManager.getEntry(leafId) === undefined) {
		if (!(await isElsewhere(ctx, leafId))) return drop("redo.entryGone");
		return ctx.ui.notify(texts.t("redo.elsewhere"), "warning");
	}
	let redone: Redone = { lines: [], level: "info", done: true, written: [] };
	if (pointId !== undefined) {
		const plan = await planBack(live, pointId);
		if (plan === undefined) return drop("redo.pointGone");
		if (!ctx.isIdle()) return ctx.ui.notify(texts.t("busy.running"), "warning");
		redone = await putFilesBack(ports, live, plan);
	}
	if (redone.done) {
		if (leafId === undefined) {
			await session.redoPop();
			if (redone.written.length > 0) markFiles(pi, { kind: "codeRedo", files: redone.written });
		} else await moveBack(pi, ctx, live, leafId, redone);
	}
	ctx.ui.notify(redone.lines.join("\n"), redone.level);
}

/** Whether another pi with the same session has an entry that this one has never read. */
async function isElsewhere(ctx: ExtensionContext, entryId: string): Promise<boolean> {
	if (ctx.sessionManager.getEntry(entryId) !== undefined) return false;
	const file = ctx.sessionManager.getSessionFile();
	return file !== undefined && (await mentionsEntry(file, entryId));
}

/** A new prompt: there is no way forward from here. The undo of another pi with the session is not ours to forget. */
export async function forgetRedo(ctx: ExtensionContext, live: LiveSession): Promise<void> {
	const top = await live.session.redoPeek();
	if (top === null || top === undefined) return;
	const leafId = top.oldLeafId ?? undefined;
	if (leafId === undefined || !(await isElsewhere(ctx, leafId))) await live.session.redoClear();
}

export async function runRedo(
	pi: ExtensionAPI,
	ports: Ports,
	ctx: ExtensionCommandContext,
	live: LiveSession,
): Promise<void> {
	const item = await live.session.redoPeek();
	if (item === null || item === undefined) return ctx.ui.notify(live.texts.t("redo.nothing"), "info");
	await redoItem(pi, ports, ctx, live, item);
}
