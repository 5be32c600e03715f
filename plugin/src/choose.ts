/** One list dialog for both kinds of user interface. */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { DiffSpec, ListItem, ListSpec, ListTitle, Ports } from "./ports.ts";
import type { Texts } from "./text/index.ts";
import { DETAIL_INDENT } from "./ui/fit.ts";
import { visibleText } from "./ui/visible-text.ts";

export interface Choice {
	title: string | ListTitle;
	items: readonly ListItem[];
	help: "picker.help" | "picker.menuHelp" | "menu.help";
	diff?: DiffSpec;
	fill?: ListSpec["fill"];
}

/** Details that a title names where nobody knows how much room there is. */
const DETAILS_MAX = 8;

function asTitle(texts: Texts, title: string): ListTitle {
	const head = title.split("\n").map((text) => ({ text }));
	const more = (count: number): string => texts.t("menu.moreFiles", { count });
	return { head, details: [], more, tail: [{ text: "", kind: "blank" }] };
}

/** A title for clients that lay it out themselves. */
export function titleText({ head, details, more, tail }: ListTitle): string {
	const lines = head.map(({ text }) => text);
	const shown = details.slice(0, DETAILS_MAX).map((detail) => {
		const { text, suffix } = detail();
		return `${text}${suffix}`;
	});
	if (details.length > DETAILS_MAX) shown.push(more(details.length - DETAILS_MAX));
	lines.push(...shown.map((line) => `${DETAIL_INDENT}${visibleText(line, (text) => text.length)}`));
	lines.push(...tail.map(({ text }) => text));
	return lines.join("\n").trimEnd();
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
			title: typeof choice.title === "string" ? asTitle(texts, choice.title) : choice.title,
			items: choice.items,
			help: texts.t(choice.help),
			kind: choice.help === "picker.help" ? "messages" : "actions",
			labels: {
				position: (at, total) => texts.t("picker.position", { at, total }),
				positionShort: (at, total) => texts.t("picker.positionShort", { at, total }),
				filter: (text) => texts.t("picker.filter", { text }),
				noMatch: texts.t("picker.noMatch"),
				tooSoon: texts.t("menu.tooSoon"),
			},
		};
		if (choice.diff !== undefined) list.diff = choice.diff;
		if (choice.fill !== undefined) list.fill = choice.fill;
		return ports.chooseInTerminal(ctx, list);
	}
	const labels = choice.items.map((item) => item.label);
	await choice.fill?.((index, label) => {
		labels[index] = label;
	}, new AbortController().signal);
	const title = typeof choice.title === "string" ? choice.title : titleText(choice.title);
	const answer = await ctx.ui.select(title, labels);
	if (answer === undefined) return undefined;
	const index = labels.indexOf(answer);
	return index === -1 ? undefined : index;
}
