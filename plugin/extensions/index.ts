/** Entry point: hands the plugin what only the running pi has. */
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import * as piAgent from "@earendil-works/pi-coding-agent";
import { visibleWidth } from "@earendil-works/pi-tui";
import { loadNative } from "../src/native.ts";
import { ENTRY_TYPE } from "../src/navigate.ts";
import { install } from "../src/plugin.ts";
import { renderCard } from "../src/ui/card.ts";
import { chooseInTerminal } from "../src/ui/terminal-dialog.ts";

export default function candyUndo(pi: ExtensionAPI): void {
	const { lifecycle } = install(pi, {
		loadNative,
		withFileQueue: (path, work) =>
			typeof piAgent.withFileMutationQueue === "function" ? piAgent.withFileMutationQueue(path, work) : work(),
		chooseInTerminal,
		columns: visibleWidth,
		files: { agentDir: piAgent.getAgentDir(), configDirName: piAgent.CONFIG_DIR_NAME },
		home: homedir(),
		platform: process.platform,
		selfPath: fileURLToPath(import.meta.url),
		now: () => Date.now(),
		writeError: (text) => {
			process.stderr.write(text);
		},
	});
	pi.registerEntryRenderer?.(ENTRY_TYPE, (entry, _options, theme) => renderCard(entry, theme, lifecycle.texts));
}
