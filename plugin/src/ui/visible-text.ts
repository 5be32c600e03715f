/**
 * Text of unknown origin, made safe and honest for one line of a terminal.
 *
 * File contents, file names and prompts may hold anything. What a terminal would obey, and what nobody could see, is
 * shown in place of being sent.
 */
const TAB_COLUMNS = 4;

/**
 * Control characters, lone surrogates, and format characters that are invisible or turn the reading direction around.
 * Joiners, tag characters and variation selectors stay: emoji and several scripts are made with them.
 */
const UNSHOWABLE = /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

function shown(character: string): string {
	const code = character.codePointAt(0) ?? 0;
	if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`;
	if (code === 0x7f) return "^?";
	if (code < 0xa0 || (code >= 0xd800 && code <= 0xdfff)) return "�";
	return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

const escaped = (text: string): string => text.replace(UNSHOWABLE, shown);

/** The same for a message of several lines. */
export function visibleLines(text: string): string {
	return text.split("\n").map(escaped).join("\n");
}

/** `ESC` becomes `^[` and so on; tabs reach to the next tab stop. */
export function visibleText(text: string, columns: (text: string) => number): string {
	if (!text.includes("\t")) return escaped(text);
	let line = "";
	let at = 0;
	for (const [index, part] of text.split("\t").entries()) {
		if (index > 0) {
			const gap = TAB_COLUMNS - (at % TAB_COLUMNS);
			line += " ".repeat(gap);
			at += gap;
		}
		const safe = escaped(part);
		line += safe;
		at += columns(safe);
	}
	return line;
}
