/** Draws our session entries: a small card where the conversation was rewound, nothing for the others. */
import type { CustomEntry, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, Text } from "@earendil-works/pi-tui";
import { isMarker, type MarkerData } from "../navigate.ts";
import type { Texts } from "../text/index.ts";

export function renderCard(entry: CustomEntry, theme: Theme, texts: Texts): Component | undefined {
	const { data } = entry;
	if (!isMarker(data) || data.kind === "anchor") return undefined;
	return new Text(theme.fg("muted", `↩ ${cardText(data, texts)}`), 1, 0);
}

function cardText(data: Exclude<MarkerData, { kind: "anchor" }>, texts: Texts): string {
	switch (data.kind) {
		case "undo":
			return texts.t("card.undo", { text: data.text });
		case "redo":
			return texts.t("card.redo");
		case "code":
			return texts.t("card.code", { count: data.files.length, text: data.text });
		case "codeRedo":
			return texts.t("card.codeRedo", { count: data.files.length });
	}
}
