/** A restore that a crash interrupted: finish it or take it back, as the user wishes. */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { choose } from "./choose.ts";
import type { LiveSession } from "./live.ts";
import type { Ports } from "./ports.ts";
import { failureText } from "./restore.ts";

const CHOICES = ["finish", "rollback", "later"] as const;

/** False when the command must stop here. */
export async function settleUnfinished(
	ports: Ports,
	ctx: ExtensionCommandContext,
	live: LiveSession,
): Promise<boolean> {
	const { texts } = live;
	for (const restore of [...live.unfinished]) {
		const ago = texts.ago(restore.createdAt, ports.now());
		const at = await choose(ports, texts, ctx, {
			title: texts.t("unfinished.title", { count: restore.files, ago }),
			items: CHOICES.map((choice) => ({ label: texts.t(`unfinished.${choice}`) })),
			help: "picker.menuHelp",
		});
		const choice = at === undefined ? undefined : CHOICES[at];
		if (choice === undefined) return false;
		if (choice === "later") continue;
		if (!ctx.isIdle()) {
			ctx.ui.notify(texts.t("busy.running"), "warning");
			return false;
		}
		const outcome = await live.session.resumeRestore(restore.id, choice);
		if (outcome.failed.length > 0) {
			ctx.ui.notify(failureText(texts, outcome, "undo"), "error");
			return false;
		}
		live.unfinished = live.unfinished.filter((other) => other.id !== restore.id);
		// Another session's restore can be ended from here, but only that session can go forward again.
		const own = restore.sessionId === live.session.info().id;
		if (choice === "finish" && own) {
			const maxItems = live.settings.maxRedoStackSize;
			await live.session.redoPush({ type: "code", pointId: restore.redoPointId, maxItems });
		}
		const finished = own ? "unfinished.finished" : "unfinished.finishedOther";
		const key = choice === "finish" ? finished : "unfinished.rolledBack";
		ctx.ui.notify(texts.t(key, { count: outcome.restored }), "info");
	}
	return true;
}
