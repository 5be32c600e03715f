/** One list dialog for both kinds of user interface. */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { ListItem, ListSpec, Ports } from "./ports.ts";
import type { Texts } from "./text/index.ts";

export interface Choice {
	title: string;
	items: readonly ListItem[];
	help: "picker.help" | "picker.menuHelp";
	fill?: ListSpec["fill"];
}

/**
 * Index of the chosen item, or undefined when the user cancelled.
 *
 * RPC clients show strings they were given once, so there the labels are filled in before the dialog opens. They must
 * differ from each other, since the answer is the string itself.
 */
export async function choose(
	ports: Ports,
	texts: Texts,
	ctx: ExtensionCommandContext,
	choice: Choice,
): Promise<number | undefined> {
	if (ctx.mode === "tui") {
		const list: ListSpec = {
			title: choice.title,
			items: choice.items,
			help: texts.t(choice.help),
			labels: {
				position: (at, total) => texts.t("picker.position", { at, total }),
				filter: (text) => texts.t("picker.filter", { text }),
				noMatch: texts.t("picker.noMatch"),
			},
		};
		if (choice.fill !== undefined) list.fill = choice.fill;
		return ports.chooseInTerminal(ctx, list);
	}
	const labels = choice.items.map((item) => item.label);
	await choice.fill?.((index, label) => {
		labels[index] = label;
	}, new AbortController().signal);
	const answer = await ctx.ui.select(choice.title, labels);
	if (answer === undefined) return undefined;
	const index = labels.indexOf(answer);
	return index === -1 ? undefined : index;
}
