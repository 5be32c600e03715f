/** Asks what to take back, with the diffs of it at hand. */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { choose } from "./choose.ts";
import type { LiveSession } from "./live.ts";
import {
	type Action,
	actionLabel,
	filePiece,
	type MenuFacts,
	menuActions,
	menuFiles,
	menuTitle,
	reasonText,
} from "./menu.ts";
import type { DiffFile, DiffSpec, Ports } from "./ports.ts";
import type { PlanFile, PlanSummary } from "./store.ts";
import type { Texts } from "./text/index.ts";

/** Why a file has no diff, where that is known without asking for one. */
function diffNote(texts: Texts, file: PlanFile): string | undefined {
	if (file.action === "skip") return texts.t("diff.skip", { reason: reasonText(texts, file.reason) });
	if (file.action === "chmod") return texts.t("diff.chmod");
	return file.binary ? texts.t("diff.binary") : undefined;
}

export function diffSpec(live: Pick<LiveSession, "texts" | "session">, plan: PlanSummary): DiffSpec {
	const { texts, session } = live;
	const files = menuFiles(plan).map(
		(file): DiffFile => ({
			path: file.path,
			heading: () => filePiece(texts, file),
			note: () => diffNote(texts, file),
		}),
	);
	return {
		files,
		load: (path) => session.diff(plan.planId, path),
		help: texts.t("diff.help"),
		labels: {
			loading: texts.t("diff.loading"),
			empty: texts.t("diff.empty"),
			noNewline: texts.t("diff.noNewline"),
			cut: texts.t("diff.cut"),
			position: (file, total) => texts.t("diff.position", { file, total }),
			failed: (reason) => texts.t("diff.failed", { reason }),
			onlyLineEndings: (how) => texts.t(`diff.endings.${how}`),
		},
	};
}

/** Undefined when the user cancelled. */
export async function chooseAction(
	ports: Ports,
	ctx: ExtensionCommandContext,
	live: LiveSession,
	facts: MenuFacts,
): Promise<Action | undefined> {
	const { texts } = live;
	const actions = menuActions(facts.plan);
	const diff = diffSpec(live, facts.plan);
	const at = await choose(ports, texts, ctx, {
		title: menuTitle(texts, facts),
		items: actions.map((action) => ({ label: actionLabel(texts, action) })),
		...(diff.files.length > 0 ? { help: "menu.help", diff } : { help: "picker.menuHelp" }),
	});
	return at === undefined ? undefined : actions[at];
}
