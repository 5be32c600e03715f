/** Reading pi's session tree. Pure: works on the root-to-leaf list that `getBranch()` returns. */

/** What is needed of a session entry; pi's own entries fit. */
export interface BranchEntry {
	type: string;
	id: string;
	parentId: string | null;
	timestamp: string;
	message?: object;
	content?: unknown;
}

function field(value: object, key: string): unknown {
	return Reflect.get(value, key);
}

export function isUserMessage(entry: BranchEntry): boolean {
	return entry.type === "message" && entry.message !== undefined && field(entry.message, "role") === "user";
}

/** pi's navigation to such an entry lands on its parent instead. */
export function landsOnParent(entry: BranchEntry): boolean {
	return entry.type === "custom_message" || isUserMessage(entry);
}

function contentText(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content
		.map((part: unknown) => {
			const text = typeof part === "object" && part !== null ? field(part, "text") : undefined;
			return typeof text === "string" ? text : "";
		})
		.join("");
}

/** Text of a user or custom message; images and other parts are left out. */
export function entryText(entry: BranchEntry): string {
	return contentText(entry.message === undefined ? entry.content : field(entry.message, "content"));
}

/** Milliseconds since 1970, or undefined where the entry has no usable time. */
export function entryTime(entry: BranchEntry): number | undefined {
	const time = Date.parse(entry.timestamp);
	return Number.isNaN(time) ? undefined : time;
}

/** User messages of the branch, oldest first. */
export function userMessages<E extends BranchEntry>(branch: readonly E[]): E[] {
	return branch.filter(isUserMessage);
}

/**
 * The user messages that appeared after an earlier leaf. Null stands for the empty session. Empty when that leaf is not
 * on the branch any more: then nothing says which messages came after it.
 */
export function userMessagesAfter<E extends BranchEntry>(branch: readonly E[], leafId: string | null): E[] {
	if (leafId === null) return userMessages(branch);
	const at = branch.findIndex((entry) => entry.id === leafId);
	return at === -1 ? [] : userMessages(branch.slice(at + 1));
}

/** The user messages at the end of the branch that nothing has answered yet, oldest first. */
export function unansweredUserMessages<E extends BranchEntry>(branch: readonly E[]): E[] {
	const lastAnswer = branch.findLastIndex((entry) => {
		if (entry.type !== "message" || entry.message === undefined) return false;
		const role = field(entry.message, "role");
		return role === "assistant" || role === "toolResult";
	});
	return userMessages(branch.slice(lastAnswer + 1));
}
