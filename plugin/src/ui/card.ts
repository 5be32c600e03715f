/** Draws our session entries: a small card where the conversation was rewound, nothing for the others. */
import type { CustomEntry, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, Text } from "@earendil-works/pi-tui";
import { isMarker } from "../navigate.ts";
import type { Texts } from "../text/index.ts";

export function renderCard(entry: CustomEntry, theme: Theme, texts: Texts): Component | undefined {
	const { data } = entry;
	if (!isMarker(data) || data.kind === "anchor") return undefined;
	const text = data.kind === "undo" ? texts.t("card.undo", { text: data.text }) : texts.t("card.redo");
	return new Text(theme.fg("muted", `↩ ${text}`), 1, 0);
}
