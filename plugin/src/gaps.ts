/** Which tools change files without telling which. */

/** Tools whose changes no path in their input announces. */
const SHELLS: ReadonlySet<string> = new Set(["bash", "powershell"]);

export interface ToolFacts {
	name: string;
	annotations?: { readOnlyHint?: boolean };
}

/**
 * The gap that an untracked tool leaves, if any. Tools that describe themselves (MCP tools do) count unless they say
 * that they only read; of the others only the shells are known to write.
 */
export function toolGap(toolName: string, tools: readonly ToolFacts[]): string | undefined {
	if (SHELLS.has(toolName)) return toolName;
	const annotations = tools.find((tool) => tool.name === toolName)?.annotations;
	return annotations === undefined || annotations.readOnlyHint === true ? undefined : `tool:${toolName}`;
}
