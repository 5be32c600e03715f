/** Registers `/undo` and `/redo`, and finds out whether they can be reached by these names. */
import { realpathSync } from "node:fs";
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { type Completion, completeArguments } from "./arguments.ts";
import { entryText, userMessages } from "./branch.ts";
import { toCandyError } from "./errors.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LiveSession } from "./live.ts";
import { actionLabel } from "./menu.ts";
import { explain } from "./notices.ts";
import type { Ports } from "./ports.ts";
import { runRedo } from "./redo.ts";
import { cutColumns, oneLine, PREVIEW_COLUMNS } from "./rows.ts";
import type { Texts } from "./text/index.ts";
import { runUndo } from "./undo.ts";

type Command = typeof runUndo;

const COMMANDS = [
	{ name: "undo", run: runUndo },
	{ name: "redo", run: runRedo },
] as const;

/** The open session, or undefined after telling the user why there is none. */
function ready(ports: Ports, lifecycle: Lifecycle, ctx: ExtensionCommandContext): LiveSession | undefined {
	const { state, texts } = lifecycle;
	if (state.kind === "on") return state.live;
	const message = texts.t("off.title", { reason: state.reason });
	if (ctx.hasUI) ctx.ui.notify(message, "warning");
	// Notifications go nowhere without a user interface, and stdout belongs to the answer.
	else ports.writeError(`${message}\n`);
	return undefined;
}

async function execute(
	pi: ExtensionAPI,
	ports: Ports,
	lifecycle: Lifecycle,
	ctx: ExtensionCommandContext,
	command: { name: string; run: Command },
	args: string,
): Promise<void> {
	if (ready(ports, lifecycle, ctx) === undefined) return;
	await ctx.waitForIdle();
	const live = ready(ports, lifecycle, ctx);
	if (live === undefined) return;
	if (!live.enter(command.name)) return ctx.ui.notify(live.texts.t("busy.open"), "warning");
	try {
		await command.run(pi, ports, ctx, live, args);
	} catch (thrown) {
		const error = toCandyError(thrown);
		live.log.write("command failed", { command: command.name, code: error.code, message: error.message });
		ctx.ui.notify(live.texts.t("notice.prefix", { text: explain(live.texts, error) }), "error");
	} finally {
		live.leave();
	}
}

/** Messages offered while the number of one is being typed. */
const MESSAGES_COMPLETED_MAX = 20;

function complete(ports: Ports, lifecycle: Lifecycle, texts: Texts, typed: string): Completion[] | null {
	const newest = userMessages(lifecycle.branch()).reverse().slice(0, MESSAGES_COMPLETED_MAX);
	return completeArguments(typed, {
		messages: newest.map((entry) => cutColumns(oneLine(entryText(entry)), PREVIEW_COLUMNS, ports.columns)),
		action: (action) => actionLabel(texts, action),
	});
}

/** May be called again: a later registration of the same extension replaces the earlier one. */
export function registerCommands(pi: ExtensionAPI, ports: Ports, lifecycle: Lifecycle, texts: Texts): void {
	for (const command of COMMANDS) {
		pi.registerCommand(command.name, {
			description: texts.t(`command.${command.name}`),
			...(command.name === "undo"
				? { getArgumentCompletions: (typed: string) => complete(ports, lifecycle, texts, typed) }
				: {}),
			handler: (args, ctx) => execute(pi, ports, lifecycle, ctx, command, args),
		});
	}
}

/** The same file may be known by a link and by its own path. */
function resolved(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return path;
	}
}

export interface Clash {
	name: string;
	path: string;
}

/** Other extensions with a command of ours: pi then renames both, and the plain name goes to the model. */
export function commandClashes(pi: Pick<ExtensionAPI, "getCommands">, selfPath: string): Clash[] {
	const self = resolved(selfPath);
	const clashes: Clash[] = [];
	for (const command of pi.getCommands()) {
		const name = command.name.replace(/:\d+$/, "");
		if (command.source !== "extension" || !COMMANDS.some((own) => own.name === name)) continue;
		if (resolved(command.sourceInfo.path) !== self) clashes.push({ name, path: command.sourceInfo.path });
	}
	return clashes;
}
