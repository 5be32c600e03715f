/** What the plugin needs from outside. `extensions/index.ts` fills it with the real things, unit tests with others. */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { NativeModule } from "./native.ts";
import type { SettingsFiles } from "./settings-source.ts";

/** A line of which one part may be cut to make room for the other. */
export interface Piece {
	/** Gives way first. */
	text: string;
	/** Stays: counts and whatever else was written to be seen. */
	suffix: string;
	/** Which end of the text goes; the end unless told. */
	cut?: "start";
}

export interface ListItem {
	label: string;
	/** Beginning of every label of this item that may be cut on a narrow screen; the rest stays. */
	cut?: string;
	/** What the filter looks at; the label where it is missing. */
	search?: string;
}

export interface TitleLine {
	text: string;
	/** What it is, which decides when it goes on a low screen; a line without stays. */
	kind?: "blank" | "note" | "time" | "quote" | "heading" | "gaps" | "fallback";
}

/** Head, details, tail, from top to bottom. A low screen shows fewer of the details. */
export interface ListTitle {
	head: readonly TitleLine[];
	/** Made when they are shown: a plan may have thousands of files. */
	details: readonly (() => Piece)[];
	/** Stands for the details that are left out. */
	more(hidden: number): string;
	tail: readonly TitleLine[];
}

/** One file of the diff view. */
export interface DiffFile {
	/** For `load`. */
	path: string;
	heading(): Piece;
	/** Said in place of a diff, which is not loaded then. */
	note(): string | undefined;
}

export type LineEndings = "toLf" | "toCrlf" | "mixed";

/** The changes behind a menu, shown on a key press. */
export interface DiffSpec {
	files: readonly DiffFile[];
	/** Unified diff of one file; empty when there is none to show. */
	load(path: string): Promise<string>;
	help: string;
	labels: {
		loading: string;
		/** There is no diff to show. */
		empty: string;
		noNewline: string;
		cut: string;
		position(file: number, files: number): string;
		failed(reason: string): string;
		onlyLineEndings(how: LineEndings): string;
	};
}

export interface ListSpec {
	title: ListTitle;
	items: readonly ListItem[];
	/** Key help under the list. */
	help: string;
	/** Lists that do something on confirmation do not filter, and want to have been seen first. */
	kind: "messages" | "actions";
	labels: {
		position(at: number, total: number): string;
		/** For low screens. */
		positionShort(at: number, total: number): string;
		filter(text: string): string;
		noMatch: string;
		/** Confirmed before anybody can have read what it says. */
		tooSoon: string;
	};
	/** Opened with `d`. */
	diff?: DiffSpec;
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
