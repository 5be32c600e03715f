/** What the plugin needs from outside. `extensions/index.ts` fills it with the real things, unit tests with others. */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { NativeModule } from "./native.ts";
import type { SettingsFiles } from "./settings-source.ts";

export interface ListItem {
	label: string;
	/** What the filter looks at; the label where it is missing. */
	search?: string;
}

export interface ListSpec {
	/** May have several lines. */
	title: string;
	items: readonly ListItem[];
	/** Key help under the list. */
	help: string;
	labels: {
		position(at: number, total: number): string;
		filter(text: string): string;
		noMatch: string;
	};
	/** Fills labels in while the list is open, until `signal` says that it was closed. */
	fill?(setLabel: (index: number, label: string) => void, signal: AbortSignal): Promise<void>;
}

export interface Ports {
	/** Throws a `CandyError` where no binary fits. */
	loadNative(): NativeModule;
	/** Runs `work` while pi's own file tools keep away from the path. */
	withFileQueue<T>(path: string, work: () => Promise<T>): Promise<T>;
	/** The list dialog of the terminal: index of the chosen item, undefined when cancelled. */
	chooseInTerminal(ctx: ExtensionCommandContext, list: ListSpec): Promise<number | undefined>;
	/** Terminal columns that a text takes. */
	columns(text: string): number;
	files: SettingsFiles;
	home: string;
	platform: NodeJS.Platform;
	/** This extension's own file, to tell its commands from those of others. */
	selfPath: string;
	now(): number;
	/** For people who run pi without a user interface. */
	writeError(text: string): void;
}
