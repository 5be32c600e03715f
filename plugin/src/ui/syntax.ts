/** Syntax colours from pi, where it has them. */
import * as piAgent from "@earendil-works/pi-coding-agent";

export interface Syntax {
	/** Language of a file; undefined where no colours are known for it. */
	language(path: string): string | undefined;
	/** The line with colours; undefined when that would change its text. */
	colour(line: string, language: string): string | undefined;
}

/** The only sequences that colours are made of. */
const SGR = /\x1b\[[\d;:]*m/g;

export const piSyntax: Syntax = {
	language(path) {
		const known = typeof piAgent.highlightCode === "function" && typeof piAgent.getLanguageFromPath === "function";
		return known ? piAgent.getLanguageFromPath(path) : undefined;
	},
	colour(line, language) {
		try {
			const coloured = piAgent.highlightCode(line, language).join("");
			return coloured.replace(SGR, "") === line ? coloured : undefined;
		} catch {
			return undefined;
		}
	},
};
