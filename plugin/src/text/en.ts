import type { Entry } from "./index.ts";

export const en = {
	"list.separator": ", ",
	"time.justNow": "just now",

	"command.undo": "Go back to before an earlier message: files, conversation or both",
	"command.redo": "Take back the last /undo",

	"picker.title": "Rewind to before…",
	"picker.help": "↑↓ move · ←→ page · type: filter · Enter open · Esc cancel",
	"picker.menuHelp": "↑↓ choose · Enter select · Esc cancel",
	"picker.position": "{at} of {total}",
	"picker.positionShort": "{at}/{total}",
	"picker.filter": "Filter: {text}",
	"picker.noMatch": "No message matches",

	"row.files": { one: "{count} file", other: "{count} files" },
	"row.lines": "+{added} -{removed}",
	"row.linesApproximate": "~ +{added} -{removed}",
	"row.links": { one: "{count} link skipped", other: "{count} links skipped" },
	"row.skipped": { one: "{count} file not covered", other: "{count} files not covered" },
	"row.pending": "…",
	"row.noChange": "no file changes",
	"row.unknown": "changes unknown",
	"row.noSnapshot": "no snapshot of its own",
	"row.noText": "(no text)",
	"row.gaps": "not covered: {list}",

	"gap.off": "history was off",
	"gap.bash": "bash",
	"gap.powershell": "powershell",
	"gap.user-bash": "your own ! command",
	"gap.tool": "tool {name}",
	"gap.store": "history store failed",
	"gap.path-changed": "path changed by another extension",
	"gap.excluded": "excluded file",
	"gap.too-large": "file over the size limit",
	"gap.not-a-file": "not a regular file",
	"gap.symlink": "symbolic link",
	"gap.hard-link": "hard link",
	"gap.unreadable": "unreadable file",
	"gap.unstable": "file changed while it was read",

	"reason.excluded": "excluded",
	"reason.too-large": "over the size limit",
	"reason.not-a-file": "not a regular file",
	"reason.symlink": "symbolic link",
	"reason.hard-link": "hard link",
	"reason.store": "part of the history store",
	"reason.unreadable": "cannot be read",
	"reason.unstable": "changed while it was read",
	"reason.was-too-large": "was over the size limit at that moment",
	"reason.not-captured": "was not recorded at that moment",
	"reason.purged": "purged from the history",
	"reason.no-pre-image": "its earlier content was never seen",
	"reason.missing-content": "its recorded content is missing",
	"reason.changed-by-hand": "changed by hand",
	"reason.unknown": "{reason}",

	"menu.title": "Rewind to before this message?",
	"menu.quote": "│ “{text}”",
	"menu.time": "│ ({ago})",
	"menu.note": "\u{1F4A1} Rewinding does not affect files edited manually or via bash",
	"menu.files": { one: "{count} file would change:", other: "{count} files would change:" },
	"menu.noFiles": "No file would change.",
	"menu.moreFiles": { one: "and {count} more", other: "and {count} more" },
	"menu.help": "↑↓ choose · Enter select · d show the changes · Esc cancel",
	"menu.tooSoon": "Have a look first; Enter then confirms.",
	"menu.fallback":
		"There is no snapshot of this moment: the nearest older state is used, so more may change than you expect.",
	"menu.gaps": "Not covered since then: {list}",
	"menu.both": "Restore code and conversation",
	"menu.conversation": "Restore conversation",
	"menu.code": "Restore code",
	"menu.summarize": "Summarize",
	"menu.summarizeCustom": "Summarize with custom prompt",
	"menu.nothing": "Never mind",

	// These follow a path.
	"file.create": " (created again, {changes})",
	"file.modify": " ({changes})",
	"file.delete": " (deleted, {changes})",
	"file.chmod": " (mode only)",
	"file.skip": " (left alone: {reason})",
	"file.byHand": "{text} — changed by hand since the agent's last edit",
	"file.added": "+{added}",
	"file.removed": "-{removed}",
	"file.lines": "+{added} -{removed}",
	"file.linesApproximate": "~ +{added} -{removed}",
	"file.binary": "binary",

	"diff.help": "- now + after · ↑↓ space · n/p file · Esc back",
	"diff.position": "File {file}/{total}",
	"diff.loading": "Loading…",
	"diff.empty": "No lines differ any more.",
	"diff.binary": "A binary or very large file: there are no lines to show.",
	"diff.chmod": "Only the mode would change.",
	"diff.skip": "Nothing happens to this file: {reason}.",
	"diff.failed": "The changes cannot be shown: {reason}",
	"diff.cut": "(the rest is too long to be shown)",
	"diff.noNewline": "(no line break at the end of the file)",
	"diff.endings.toLf": "Only the line endings differ: CRLF now, LF after the undo.",
	"diff.endings.toCrlf": "Only the line endings differ: LF now, CRLF after the undo.",
	"diff.endings.mixed": "Only the line endings differ.",

	"summary.prompt": "What should the summary keep?",
	"summary.working": "Summarizing…",

	"result.restored": { one: "{count} file restored.", other: "{count} files restored." },
	"result.alreadyThere": "The files already are in that state; nothing was written.",
	"result.skipped": { one: "{count} file left alone: {list}", other: "{count} files left alone: {list}" },
	"result.kept": {
		one: "{count} file changed while it was restored; the content found was kept as a version: {list}",
		other: "{count} files changed while they were restored; the contents found were kept as versions: {list}",
	},
	"result.byHand": {
		one: "{count} file had changes made by hand; /redo brings them back: {list}",
		other: "{count} files had changes made by hand; /redo brings them back: {list}",
	},
	"result.byHandRedo": {
		one: "{count} file had changes made after the undo; they are kept as a version ({point}): {list}",
		other: "{count} files had changes made after the undo; they are kept as versions ({point}): {list}",
	},
	"result.emptied": {
		one: "{count} directory is empty now and was left: {list}",
		other: "{count} directories are empty now and were left: {list}",
	},
	"result.gaps": "Not covered by this undo: {list}",
	"result.conversation": "The conversation is back to before “{text}”.",
	"result.summarized": "The conversation is back to before “{text}”, with a summary of what followed.",
	"result.cancelled": "Cancelled; nothing was changed.",
	"result.navigationCancelled": "Moving in the conversation was cancelled.",
	"result.navigationFailed": "The conversation stays where it is: {reason}",
	"result.filesOnly": "The files were restored; /redo takes that back.",
	"result.redoneFiles": { one: "{count} file put back.", other: "{count} files put back." },
	"result.redoneConversation": "The conversation is where it was before the undo.",

	"failed.title": {
		one: "{count} file could not be restored, so the undo stopped here:",
		other: "{count} files could not be restored, so the undo stopped here:",
	},
	"failed.redoTitle": {
		one: "{count} file could not be put back, so the redo stopped here and can be repeated:",
		other: "{count} files could not be put back, so the redo stopped here and can be repeated:",
	},
	"failed.file": "  {path}: {reason}",
	"failed.others": { one: "{count} other file was restored.", other: "{count} other files were restored." },
	"failed.wayBack":
		"Nothing is lost: the state from before is kept as {point}. Close programs that use these files, then run /{command} " +
		"again; `candy-store restore {point}` puts the state from before back.",

	"unfinished.notice": {
		one: "An earlier restore of {count} file was interrupted. /undo offers to finish it or to roll it back.",
		other: "An earlier restore of {count} files was interrupted. /undo offers to finish it or to roll it back.",
	},
	"unfinished.title": {
		one: "A restore of {count} file was interrupted ({ago}). What now?",
		other: "A restore of {count} files was interrupted ({ago}). What now?",
	},
	"unfinished.finish": "Finish it",
	"unfinished.rollback": "Roll it back",
	"unfinished.later": "Decide later",
	"unfinished.finished": {
		one: "Finished: {count} file restored. /redo takes it back.",
		other: "Finished: {count} files restored. /redo takes it back.",
	},
	"unfinished.finishedOther": { one: "Finished: {count} file restored.", other: "Finished: {count} files restored." },
	"unfinished.rolledBack": { one: "Rolled back: {count} file.", other: "Rolled back: {count} files." },

	"undo.usage": "/undo does not know “{word}”. Use /undo, /undo 2, /undo --code, /undo 3 --both …",
	"undo.noSuchRow": "There is no message {number}; the list goes from 1 to {count}.",
	"undo.nothing": "There is no message to go back to.",
	"redo.nothing": "There is nothing to redo.",
	"redo.elsewhere":
		"The last undo was made by another pi with this session; run /redo there, or start this pi again with --continue.",
	"redo.entryGone":
		"The last undo cannot be taken back: its place in the conversation is no longer there. It was dropped.",
	"redo.pointGone": "The last undo cannot be taken back: the state from before it is no longer kept. It was dropped.",
	"busy.running": "The agent started to work meanwhile; nothing was changed. Run the command again when it is done.",
	"busy.open": "Another /undo or /redo is still open; this one did nothing.",

	"card.undo": "Rewound to before “{text}”",
	"card.redo": "Undo taken back",
	"card.code": {
		one: "{count} file is back to before “{text}”",
		other: "{count} files are back to before “{text}”",
	},
	"card.codeRedo": {
		one: "{count} file is as it was before the undo",
		other: "{count} files are as they were before the undo",
	},

	"note.reverted":
		"The user took back changes with /undo. These files do not hold what you last saw; read them again before you " +
		"edit them: {list}",

	"footer.off": "file history: off",
	"footer.degraded": "file history: incomplete",

	"off.title": "candy-undo is off: {reason}",
	"off.disabled": "it is switched off in the settings (candyUndo.enabled).",
	"off.noUi": "/undo and /redo need the terminal or RPC mode; nothing was changed.",
	"off.starting": "it is still starting; try again in a moment.",
	"off.noAddon":
		"its native part does not load on this machine ({reason}). Reinstall the package, or build it from source with " +
		"`cargo xtask addon`.",
	"on.again": "the history store works again; edits are recorded from here on.",

	"notice.prefix": "candy-undo: {text}",
	"notice.off": "file history is off: {reason}",
	"notice.settings": "some settings cannot be used: {list}",
	"notice.setting": "{key} = {value} (using {used})",
	"notice.settingsFile": "{path} cannot be read as JSON, so no old history is cleaned up",
	"notice.clash":
		"/{name} is also a command of {path}. pi then sends /{name} to the model as a prompt. Remove that extension " +
		"(`pi remove` or the settings), or this one.",
	"notice.notTracked": "{path} is not recorded ({reason}); /undo will not change it.",
	"notice.notCaptured": {
		one: "{count} file could not be recorded: {list}",
		other: "{count} files could not be recorded: {list}",
	},
	"notice.pathChanged": "another extension changed the path of a tool call to {path}; that file is not recorded.",
	"notice.trackFailed":
		"the file could not be recorded before the tool ran, so this turn is not fully covered. {reason}",
	"notice.snapshotFailed": "no snapshot could be taken, so this turn is not covered. {reason}",
	"notice.storeFailed": "{reason}",

	"error.plain": "{message}",
	"error.hint": "{message}. Next: {hint}.",
	"error.CANDY_STORE_IN_WORKSPACE":
		"the history store {path} lies inside the workspace. Set candyUndo.storageDir to a folder outside of it.",
	"error.CANDY_NEWER_FORMAT":
		"the history store {path} was written by a newer version. Update this plugin; the store was left as it is.",
	"error.CANDY_PERMISSION": "no permission for {path}. Check its owner and mode; the agent goes on without undo.",
	"error.CANDY_NOT_OWNER":
		"{path} belongs to another user or is open to others. Use a folder of your own with mode 0700.",
	"error.CANDY_NO_SPACE": "the disk that holds {path} is full. Free some space, then run `candy-store gc`.",
	"error.CANDY_READ_ONLY": "the history store {path} can be read but not written: {message}",
	"error.CANDY_NOT_A_STORE":
		"{path} holds something that is not a history store. Choose an empty folder with candyUndo.storageDir.",
	"error.CANDY_LOCKS_DO_NOT_HOLD":
		"file locks do not work where {path} is. Set candyUndo.storageDir to a folder on a local disk.",
	"error.CANDY_LOCK_TIMEOUT":
		"another process holds the history store {path}. Try again; if it stays so, look for a stopped process.",
	"error.CANDY_INDEX_MISSING":
		"the index of the history store {path} is missing. Run `candy-store fsck --rebuild-index`; nothing was overwritten.",
	"error.CANDY_INDEX_DAMAGED":
		"the index of the history store {path} is damaged. Run `candy-store fsck --rebuild-index`; nothing was overwritten.",
	"error.CANDY_CORRUPT":
		"the history store {path} is damaged. Run `candy-store fsck --read-data`; nothing was overwritten.",
} as const satisfies Record<string, Entry>;
