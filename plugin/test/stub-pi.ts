/** A pi made of a session tree, events and scripted dialogs: enough to run the plugin's handlers in their real order. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { BranchEntry } from "../src/branch.ts";
import { install } from "../src/plugin.ts";
import type { Ports } from "../src/ports.ts";
import { FakeDisk } from "./fake-native.ts";

type Handler = (event: object, ctx: object) => unknown;
type Command = {
	description: string;
	getArgumentCompletions?: (typed: string) => { value: string; label: string; description?: string }[] | null;
	handler: (args: string, ctx: object) => Promise<void>;
};
/** Answer to a select: a matching option, or undefined to cancel; or what to do while the dialog is open. */
export type Answer = RegExp | undefined | (() => Promise<RegExp | undefined>);

export interface Dialog {
	title: string;
	options: string[];
}

export interface World {
	root: string;
	cwd: string;
	home: string;
	disk: FakeDisk;
}

export function makeWorld(t: TestContext): World {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "candy-plugin-")));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	const world = { root, cwd: join(root, "work"), home: join(root, "home"), disk: new FakeDisk() };
	mkdirSync(world.cwd);
	mkdirSync(world.home);
	return world;
}

/** One pi process with one session. The tree is given back by `tree`, so that another process can resume it. */
export class StubPi {
	readonly notifications: { message: string; level: string }[] = [];
	readonly dialogs: Dialog[] = [];
	readonly errors: string[] = [];
	/** What the footer shows. */
	readonly statuses = new Map<string, string>();
	/** Messages that the extension added to runs. */
	readonly notes: string[] = [];
	readonly commands = new Map<string, Command>();
	readonly world: World;
	readonly entries: BranchEntry[];
	editorText: string | undefined;
	settings: Record<string, unknown> = { language: "en" };
	otherCommands: { name: string; source: string; sourceInfo: { path: string } }[] = [];
	mode: "rpc" | "print" | "tui" = "rpc";
	idle = true;
	header: { parentSession?: string } = {};
	cancelNavigation = false;
	sessionId: string;
	sessionFile: string | undefined;
	#leafId: string | null;
	readonly #byId = new Map<string, BranchEntry>();
	readonly #handlers = new Map<string, Handler[]>();
	#answers: Answer[] = [];
	#inputs: (string | undefined)[] = [];
	#nextId: number;

	constructor(world: World, options: { entries?: BranchEntry[]; sessionId?: string; ports?: Partial<Ports> } = {}) {
		this.world = world;
		this.entries = options.entries ?? [];
		for (const entry of this.entries) this.#byId.set(entry.id, entry);
		this.sessionId = options.sessionId ?? "session-1";
		this.#leafId = this.entries.at(-1)?.id ?? null;
		this.#nextId = this.entries.length + 1;
		install(this.#api(), {
			loadNative: () => world.disk.module(),
			withFileQueue: (_path, work) => work(),
			chooseInTerminal: async () => undefined,
			columns: (text) => [...text].length,
			files: { agentDir: join(world.home, ".pi", "agent"), configDirName: ".pi" },
			home: world.home,
			platform: "linux",
			selfPath: "/plugin/index.ts",
			now: () => Date.now(),
			writeError: (text) => {
				this.errors.push(text);
			},
			...options.ports,
		});
	}

	#api(): ExtensionAPI {
		const api = {
			on: (name: string, handler: Handler) => {
				this.#handlers.set(name, [...(this.#handlers.get(name) ?? []), handler]);
			},
			registerCommand: (name: string, command: Command) => this.commands.set(name, command),
			appendEntry: (customType: string, data: unknown) => this.append({ type: "custom", customType, data }),
			getSettings: () => ({ candyUndo: this.settings }),
			getCommands: () => this.otherCommands,
			getAllTools: () => [],
		};
		return api as unknown as ExtensionAPI;
	}

	/** Adds an entry below the leaf; returns its id. */
	append(fields: object): string {
		const id = `e${this.#nextId++}`;
		const entry = { id, parentId: this.#leafId, timestamp: new Date().toISOString(), ...fields };
		this.entries.push(entry as unknown as BranchEntry);
		this.#byId.set(id, entry as unknown as BranchEntry);
		this.#leafId = id;
		return id;
	}

	get leafId(): string | null {
		return this.#leafId;
	}

	entry(id: string | null): BranchEntry | undefined {
		return id === null ? undefined : this.#byId.get(id);
	}

	branch(): BranchEntry[] {
		const path: BranchEntry[] = [];
		for (let at = this.entry(this.#leafId); at !== undefined; at = this.entry(at.parentId)) path.push(at);
		return path.reverse();
	}

	context(): object {
		const manager = {
			getSessionId: () => this.sessionId,
			getSessionFile: () => this.sessionFile,
			getHeader: () => this.header,
			getLeafId: () => this.#leafId,
			getLeafEntry: () => this.entry(this.#leafId),
			getEntry: (id: string) => this.entry(id),
			getBranch: () => this.branch(),
		};
		return {
			mode: this.mode,
			hasUI: this.mode !== "print",
			cwd: this.world.cwd,
			sessionManager: manager,
			isIdle: () => this.idle,
			isProjectTrusted: () => true,
			waitForIdle: async () => {},
			navigateTree: (id: string) => this.#navigate(id),
			ui: {
				notify: (message: string, level: string) => this.notifications.push({ message, level }),
				select: (title: string, options: string[]) => this.#select(title, options),
				input: async () => this.#inputs.shift(),
				setEditorText: (text: string) => {
					this.editorText = text;
				},
				setStatus: (key: string, text: string | undefined) => {
					if (text === undefined) this.statuses.delete(key);
					else this.statuses.set(key, text);
				},
			},
		};
	}

	async #navigate(id: string): Promise<{ cancelled: boolean }> {
		if (!this.idle) throw new Error("Wait for the current response to finish");
		if (this.cancelNavigation) return { cancelled: true };
		const entry = this.entry(id);
		if (entry === undefined) throw new Error(`Entry ${id} not found`);
		if (id === this.#leafId) return { cancelled: false };
		const role: unknown = entry.message === undefined ? undefined : Reflect.get(entry.message, "role");
		this.#leafId = role === "user" ? entry.parentId : id;
		return { cancelled: false };
	}

	async #select(title: string, options: string[]): Promise<string | undefined> {
		this.dialogs.push({ title, options });
		if (new Set(options).size !== options.length) throw new Error("options are not unique");
		if (this.#answers.length === 0) throw new Error(`unexpected dialog: ${title}`);
		const given = this.#answers.shift();
		const answer = typeof given === "function" ? await given() : given;
		if (answer === undefined) return undefined;
		const found = options.find((option) => answer.test(option));
		if (found === undefined) throw new Error(`no option matches ${answer}: ${options.join(" | ")}`);
		return found;
	}

	async emit(type: string, fields: object = {}): Promise<unknown[]> {
		const results: unknown[] = [];
		for (const handler of this.#handlers.get(type) ?? [])
			results.push(await handler({ type, ...fields }, this.context()));
		return results;
	}

	async start(reason = "startup", previousSessionFile?: string): Promise<this> {
		await this.emit("session_start", {
			reason,
			...(previousSessionFile === undefined ? {} : { previousSessionFile }),
		});
		return this;
	}

	async quit(reason = "quit"): Promise<void> {
		await this.emit("session_shutdown", { reason });
	}

	/** Runs a command line with scripted answers; returns what it notified. */
	async command(line: string, answers: Answer[] = [], inputs: (string | undefined)[] = []): Promise<string[]> {
		this.#answers = answers;
		this.#inputs = inputs;
		const before = this.notifications.length;
		const [name = "", ...words] = line.split(" ");
		await this.commands.get(name)?.handler(words.join(" "), this.context());
		return this.notifications.slice(before).map(({ message }) => message);
	}

	/** A whole run: the prompt, then what the agent does; events come in pi's order. Returns the prompt's entry. */
	async prompt(text: string, work: () => Promise<void> = async () => {}, source = "rpc"): Promise<string> {
		await this.emit("input", { text, source });
		this.idle = false;
		const results = await this.emit("before_agent_start", { messageType: "user", prompt: text });
		const id = this.append({ type: "message", message: { role: "user", content: [{ type: "text", text }] } });
		for (const result of results) {
			const note: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "message") : undefined;
			if (typeof note !== "object" || note === null) continue;
			this.notes.push(String(Reflect.get(note, "content")));
			this.append({ type: "custom_message", ...note });
		}
		await this.emit("context");
		await work();
		this.append({ type: "message", message: { role: "assistant", content: [] } });
		await this.emit("turn_end");
		this.idle = true;
		await this.emit("agent_settled", { aborted: false });
		return id;
	}

	/** A write tool call; `change` may stand for a later handler that changes the path, or null for a blocked call. */
	async write(
		path: string,
		content: string,
		change?: { path?: string; blocked?: boolean; isError?: boolean },
	): Promise<void> {
		const toolCallId = `call-${this.#nextId++}`;
		this.append({ type: "message", message: { role: "assistant", content: [] } });
		const input = { path, content };
		await this.emit("tool_call", { toolName: "write", toolCallId, input });
		if (change?.path !== undefined) input.path = change.path;
		if (change?.blocked !== true) {
			if (change?.isError !== true) {
				const target = join(this.world.cwd, input.path);
				mkdirSync(dirname(target), { recursive: true });
				writeFileSync(target, content);
			}
			await this.emit("tool_result", { toolName: "write", toolCallId, input, isError: change?.isError === true });
		}
		await this.emit("tool_execution_end", { toolName: "write", toolCallId, isError: change?.blocked === true });
		this.append({ type: "message", message: { role: "toolResult", content: [] } });
	}

	async bash(): Promise<void> {
		await this.emit("tool_call", {
			toolName: "bash",
			toolCallId: `call-${this.#nextId++}`,
			input: { command: "true" },
		});
	}
}
