/** The `/undo` command: choose a message, choose what to take back, take it back. */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { choose } from "./choose.ts";
import type { LiveSession } from "./live.ts";
import { actionLabel, menuActions, menuTitle } from "./menu.ts";
import { perform, type Task } from "./perform.ts";
import type { Ports } from "./ports.ts";
import { planFor, planRows, rowLabel, type UndoRow, undoRows } from "./rows.ts";
import { settleUnfinished } from "./unfinished.ts";

async function chooseRow(
	ports: Ports,
	ctx: ExtensionCommandContext,
	live: LiveSession,
	rows: readonly UndoRow[],
): Promise<UndoRow | undefined> {
	const { texts } = live;
	const branch = ctx.sessionManager.getBranch();
	const index = await choose(ports, texts, ctx, {
		title: texts.t("picker.title"),
		items: rows.map((row) => ({ label: rowLabel(texts, row, "pending"), search: row.text })),
		help: "picker.help",
		fill: (setLabel, signal) =>
			planRows(
				live,
				branch,
				rows,
				(at, plan) => {
					const row = rows[at];
					if (row !== undefined) setLabel(at, rowLabel(texts, row, plan));
				},
				signal,
			),
	});
	return index === undefined ? undefined : rows[index];
}

export async function runUndo(
	pi: ExtensionAPI,
	ports: Ports,
	ctx: ExtensionCommandContext,
	live: LiveSession,
): Promise<void> {
	const { texts } = live;
	if (!(await settleUnfinished(ports, ctx, live))) return;
	const rows = await undoRows(live, ctx.sessionManager.getBranch(), ports.columns);
	if (rows.length === 0) return ctx.ui.notify(texts.t("undo.nothing"), "info");
	const row = await chooseRow(ports, ctx, live, rows);
	if (row === undefined) return;

	// The branch may have grown while the list was open.
	const branch = ctx.sessionManager.getBranch();
	const plan = await planFor(live, branch, row.entry.id, true);
	const gaps = rows.slice(0, row.number).flatMap((later) => later.gaps);
	const actions = menuActions(plan);
	const at = await choose(ports, texts, ctx, {
		title: menuTitle(texts, { row, plan, gaps, now: ports.now() }),
		items: actions.map((action) => ({ label: actionLabel(texts, action) })),
		help: "picker.menuHelp",
	});
	const action = at === undefined ? undefined : actions[at];
	if (action === undefined || action === "nothing") return;
	const task: Task = { pi, ports, ctx, live, branch, row, gaps };
	await perform(task, action);
}
