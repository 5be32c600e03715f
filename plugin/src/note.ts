/**
 * Tells the model once that files went back behind its back. An undo of files alone leaves the conversation as it is,
 * so the model would go on from contents that are gone. The facts are in the session's own entries: they last over a
 * restart, and stay behind when the user moves to another branch.
 */
import type { BranchEntry } from "./branch.ts";
import { ENTRY_TYPE, isMarker } from "./navigate.ts";

/** Type of the message that carries the note. */
export const NOTE_TYPE = "candy-undo-note";

/** Files that were put back since the last message on the branch, and are still so. */
export function revertedFiles(branch: readonly BranchEntry[]): string[] {
	const lastMessage = branch.findLastIndex((entry) => entry.type === "message" || entry.type === "custom_message");
	const files = new Set<string>();
	for (const entry of branch.slice(lastMessage + 1)) {
		const data: unknown = Reflect.get(entry, "data");
		if (Reflect.get(entry, "customType") !== ENTRY_TYPE || !isMarker(data)) continue;
		if (data.kind === "code") for (const file of data.files) files.add(file);
		if (data.kind === "codeRedo") for (const file of data.files) files.delete(file);
	}
	return [...files];
}
