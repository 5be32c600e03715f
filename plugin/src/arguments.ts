/** The words after `/undo`: which message, and what to take back, for keyboards and clients without a picker. */
import type { Action } from "./menu.ts";

/** Words that stand for an entry of the menu. */
const ACTION_WORDS: Readonly<Record<string, Exclude<Action, "summarizeCustom" | "nothing">>> = {
	"--both": "both",
	"--code": "code",
	"--conversation": "conversation",
	"--summarize": "summarize",
};

export interface UndoArguments {
	/** Row of the picker, from 1. */
	number?: number;
	action?: Action;
	/** A word that means nothing here, or contradicts an earlier one. */
	unknown?: string;
}

export function parseArguments(args: string): UndoArguments {
	const parsed: UndoArguments = {};
	for (const word of args.split(/\s+/).filter(Boolean)) {
		const action = Object.hasOwn(ACTION_WORDS, word) ? ACTION_WORDS[word] : undefined;
		if (action !== undefined && parsed.action === undefined) parsed.action = action;
		else if (/^[1-9]\d{0,5}$/.test(word) && parsed.number === undefined) parsed.number = Number(word);
		else return { unknown: word };
	}
	return parsed;
}

export interface Completion {
	value: string;
	label: string;
	description?: string;
}

export interface CompletionTexts {
	/** What the messages say, newest first. */
	messages: readonly string[];
	action(action: Action): string;
}

/** Ways to go on from what was typed after the command; null where there is none. */
export function completeArguments(typed: string, texts: CompletionTexts): Completion[] | null {
	const words = typed.split(/\s+/);
	const last = words.pop() ?? "";
	const before = words.filter(Boolean);
	const known = parseArguments(before.join(" "));
	if (known.unknown !== undefined) return null;
	const lead = before.map((word) => `${word} `).join("");
	const items: Completion[] = [];
	if (known.number === undefined && known.action === undefined) {
		for (const [at, description] of texts.messages.entries()) {
			items.push({ value: `${lead}${at + 1}`, label: `${at + 1}`, description });
		}
	}
	if (known.action === undefined) {
		for (const [word, action] of Object.entries(ACTION_WORDS)) {
			items.push({ value: `${lead}${word}`, label: word, description: texts.action(action) });
		}
	}
	const matching = items.filter(({ label }) => label.startsWith(last));
	return matching.length === 0 ? null : matching;
}
