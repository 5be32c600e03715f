/** The `/undo` command: choose a message, choose what to take back, take it back. */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { parseArguments } from "./arguments.ts";
import { choose } from "./choose.ts";
import type { LiveSession } from "./live.ts";
import type { Action } from "./menu.ts";
import { chooseAction } from "./menu-dialog.ts";
import { perform, type Task } from "./perform.ts";
import type { Ports } from "./ports.ts";
import { countRows, planFor, rowLabel, type UndoRow, undoRows } from "./rows.ts";
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
		items: rows.map((row) => ({
			label: rowLabel(texts, row, "pending"),
			cut: `${row.number}. ${row.preview}`,
			search: row.text,
		})),
		help: "picker.help",
		fill: (setLabel, signal) =>
			countRows(
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
	args: string,
): Promise<void> {
	const { texts } = live;
	const wish = parseArguments(args);
	if (wish.unknown !== undefined) return ctx.ui.notify(texts.t("undo.usage", { word: wish.unknown }), "warning");
	if (!(await settleUnfinished(ports, ctx, live))) return;
	const rows = await undoRows(live, ctx.sessionManager.getBranch(), ports.columns);
	if (rows.length === 0) return ctx.ui.notify(texts.t("undo.nothing"), "info");
	if (wish.number !== undefined && wish.number > rows.length) {
		return ctx.ui.notify(texts.t("undo.noSuchRow", { number: wish.number, count: rows.length }), "warning");
	}
	// An action alone means the newest message: what "undo" means where there is nothing to choose from.
	const number = wish.number ?? (wish.action === undefined ? undefined : 1);
	const row = number === undefined ? await chooseRow(ports, ctx, live, rows) : rows[number - 1];
	if (row === undefined) return;

	// The branch may have grown while the list was open.
	const branch = ctx.sessionManager.getBranch();
	const gaps = rows.slice(0, row.number).flatMap((later) => later.gaps);
	const ask = async (): Promise<Action | undefined> => {
		const plan = await planFor(live, branch, row.entry.id, true);
		return chooseAction(ports, ctx, live, { row, plan, gaps, now: ports.now() });
	};
	const action = wish.action ?? (await ask());
	if (action === undefined || action === "nothing") return;
	const task: Task = { pi, ports, ctx, live, branch, row, gaps };
	await perform(task, action);
}
