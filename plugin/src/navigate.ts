/** Moving in pi's session tree so that the move lasts. */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { entryText, landsOnParent } from "./branch.ts";

export const ENTRY_TYPE = "candy-undo";

/** Files named in an entry: it is read with every start of the session. */
const FILES_MARKED_MAX = 50;

/** Data of our session entries. `anchor` is a leaf one can return to, and is never drawn. */
export type MarkerData =
	| { kind: "undo"; text: string }
	| { kind: "redo" }
	| { kind: "anchor" }
	/** Files went back, the conversation stayed. */
	| { kind: "code"; text: string; files: string[] }
	| { kind: "codeRedo"; files: string[] };

export type Navigation =
	| { outcome: "moved"; oldLeafId: string | undefined }
	| { outcome: "cancelled" }
	| { outcome: "failed"; reason: string };

export interface Summary {
	instructions: string | undefined;
}

/**
 * The leaf to come back to. pi lands on the parent of a user or custom message, and does nothing at all when the target
 * already is the leaf, so such a leaf first gets a child of its own.
 */
function anchoredLeaf(pi: ExtensionAPI, ctx: ExtensionCommandContext): string | undefined {
	const leaf = ctx.sessionManager.getLeafEntry();
	if (leaf !== undefined && landsOnParent(leaf)) {
		const data: MarkerData = { kind: "anchor" };
		pi.appendEntry(ENTRY_TYPE, data);
	}
	return ctx.sessionManager.getLeafId() ?? undefined;
}

async function move(
	ctx: ExtensionCommandContext,
	targetId: string,
	summary: Summary | undefined,
): Promise<"moved" | "cancelled" | { reason: string }> {
	try {
		const result = await ctx.navigateTree(targetId, {
			summarize: summary !== undefined,
			...(summary?.instructions === undefined ? {} : { customInstructions: summary.instructions }),
		});
		return result.cancelled ? "cancelled" : "moved";
	} catch (thrown) {
		return { reason: thrown instanceof Error ? thrown.message : String(thrown) };
	}
}

/** Appends our entry: without a new line in the session file, pi would be back on the old branch after a restart. */
function makeDurable(pi: ExtensionAPI, data: MarkerData): void {
	pi.appendEntry(ENTRY_TYPE, data);
}

/** Goes to before a user message and offers its text for editing. */
export async function rewindTo(
	pi: ExtensionAPI,
	ctx: ExtensionCommandContext,
	target: { entryId: string; preview: string },
	summary: Summary | undefined,
): Promise<Navigation> {
	const entry = ctx.sessionManager.getEntry(target.entryId);
	const oldLeafId = anchoredLeaf(pi, ctx);
	const result = await move(ctx, target.entryId, summary);
	if (result === "cancelled") return { outcome: "cancelled" };
	if (result !== "moved") return { outcome: "failed", reason: result.reason };
	makeDurable(pi, { kind: "undo", text: target.preview });
	// Only the terminal mode puts the text into the editor by itself.
	if (ctx.mode !== "tui" && entry !== undefined) ctx.ui.setEditorText(entryText(entry));
	return { outcome: "moved", oldLeafId };
}

/** Goes back to a leaf that an undo left. */
export async function returnTo(pi: ExtensionAPI, ctx: ExtensionCommandContext, leafId: string): Promise<Navigation> {
	const result = await move(ctx, leafId, undefined);
	if (result === "cancelled") return { outcome: "cancelled" };
	if (result !== "moved") return { outcome: "failed", reason: result.reason };
	makeDurable(pi, { kind: "redo" });
	return { outcome: "moved", oldLeafId: undefined };
}

/** Notes in the session that files moved while the conversation stayed. */
export function markFiles(pi: ExtensionAPI, data: Extract<MarkerData, { files: string[] }>): void {
	pi.appendEntry(ENTRY_TYPE, { ...data, files: data.files.slice(0, FILES_MARKED_MAX) });
}

export function isMarker(data: unknown): data is MarkerData {
	if (typeof data !== "object" || data === null) return false;
	const field = (name: string): unknown => Reflect.get(data, name);
	const files = field("files");
	const hasText = typeof field("text") === "string";
	const hasFiles = Array.isArray(files) && files.every((file) => typeof file === "string");
	switch (field("kind")) {
		case "anchor":
		case "redo":
			return true;
		case "undo":
			return hasText;
		case "code":
			return hasText && hasFiles;
		case "codeRedo":
			return hasFiles;
		default:
			return false;
	}
}
