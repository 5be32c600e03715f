/** What the dialogs need to know about keys. */
import { decodeKittyPrintable } from "@earendil-works/pi-tui";

type SelectKey = "up" | "down" | "pageUp" | "pageDown" | "confirm" | "cancel";

/** pi's own bindings, as the user configured them. */
export interface Keys {
	matches(data: string, keybinding: `tui.select.${SelectKey}`): boolean;
}

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";

/** The pasted text on one line; undefined for anything but a paste. */
function pastedText(data: string): string | undefined {
	return data.startsWith(PASTE_START)
		? data.slice(PASTE_START.length).replace(PASTE_END, "").replace(/\s+/g, " ")
		: undefined;
}

/** Text that a key or a paste stands for; undefined for keys that are no text. */
export function typedText(data: string): string | undefined {
	const line = pastedText(data) ?? decodeKittyPrintable?.(data) ?? data;
	return line === "" || /\p{Cc}/u.test(line) ? undefined : line;
}
