/** Connects pi's events to the history. All state belongs to one call of `install`: pi caches modules over sessions. */
import type { ExtensionAPI, ExtensionContext, InputEvent } from "@earendil-works/pi-coding-agent";
import { commandClashes, registerCommands } from "./commands.ts";
import { toCandyError } from "./errors.ts";
import { toolGap } from "./gaps.ts";
import { Lifecycle, noteForked } from "./lifecycle.ts";
import type { LiveSession } from "./live.ts";
import { NOTE_TYPE, revertedFiles } from "./note.ts";
import { namedPaths, resolveToolPath } from "./paths.ts";
import type { Ports } from "./ports.ts";
import { forgetRedo } from "./redo.ts";

type Handler<E> = (event: E, ctx: ExtensionContext) => Promise<void> | void;

/** The prompt text that started a run, where a person (or an RPC client) wrote it. */
function promptOf(event: object, input: InputEvent | undefined): string | undefined {
	const prompt: unknown = Reflect.get(event, "prompt");
	if (typeof prompt !== "string" || input?.source === "extension") return undefined;
	return input?.text ?? prompt;
}

function inputPath(input: object): string | undefined {
	const path: unknown = Reflect.get(input, "path");
	return typeof path === "string" ? path : undefined;
}

export function install(pi: ExtensionAPI, ports: Ports): { lifecycle: Lifecycle } {
	const lifecycle = new Lifecycle(pi, ports);
	registerCommands(pi, ports, lifecycle, lifecycle.texts);

	/** The last `input` event, until the run that it starts. */
	let lastInput: InputEvent | undefined;

	/** A handler that throws would block a tool or abort a command, so nothing leaves here. */
	const guarded =
		<E>(handler: Handler<E>) =>
		async (event: E, ctx: ExtensionContext): Promise<void> => {
			try {
				await handler(event, ctx);
			} catch (thrown) {
				const error = toCandyError(thrown);
				lifecycle.live?.log.write("handler failed", { code: error.code, message: error.message });
				lifecycle.notices?.failure("notice.storeFailed", error);
			}
		};

	const toolPath = (input: object, ctx: ExtensionContext): string | undefined => {
		const path = inputPath(input);
		return path === undefined
			? undefined
			: resolveToolPath(path, { cwd: ctx.cwd, home: ports.home, platform: ports.platform });
	};

	/** What a shell removes and the agent then writes anew was the user's: its bytes are remembered before the shell runs. */
	const glimpse = async (live: LiveSession | undefined, command: unknown, ctx: ExtensionContext): Promise<void> => {
		if (live === undefined || typeof command !== "string") return;
		const paths = namedPaths(command, { cwd: ctx.cwd, home: ports.home, platform: ports.platform });
		if (paths.length > 0) await live.session.glimpse(paths);
	};

	pi.on(
		"session_start",
		guarded(async (event, ctx) => {
			lastInput = undefined;
			await lifecycle.start(event, ctx);
			registerCommands(pi, ports, lifecycle, lifecycle.texts);
			if (!ctx.hasUI) return;
			for (const { name, path } of commandClashes(pi, ports.selfPath)) {
				lifecycle.notices?.once(`clash:${name}:${path}`, "warning", "notice.clash", { name, path });
			}
		}),
	);

	// Tidying costs time that only a real end of pi can spare.
	pi.on(
		"session_shutdown",
		guarded((event, ctx) => {
			if (event.reason === "fork") noteForked(ctx);
			return lifecycle.stop({ tidy: event.reason === "quit" });
		}),
	);

	pi.on("input", (event) => {
		// A message for the running agent starts no run; the run that is on keeps its prompt.
		if (event.streamingBehavior === undefined) lastInput = event;
	});

	const beginRun: Handler<object> = guarded(async (event, ctx) => {
		const prompt = promptOf(event, lastInput);
		lastInput = undefined;
		await lifecycle.retry();
		const { live } = lifecycle;
		if (live === undefined) return;
		await live.operations.begin(ctx.sessionManager.getLeafId(), prompt);
		if (prompt !== undefined) await forgetRedo(ctx, live);
	});

	pi.on("before_agent_start", async (event, ctx) => {
		await beginRun(event, ctx);
		const { live } = lifecycle;
		if (live?.settings.notifyModel !== true) return undefined;
		const files = revertedFiles(ctx.sessionManager.getBranch());
		if (files.length === 0) return undefined;
		const content = live.texts.t("note.reverted", { list: live.texts.list(files) });
		return { message: { customType: NOTE_TYPE, content, display: true } };
	});

	pi.on(
		"context",
		guarded((_event, ctx) => lifecycle.live?.operations.messagesArrived(ctx.sessionManager.getBranch())),
	);

	pi.on(
		"turn_end",
		guarded((_event, ctx) => lifecycle.live?.operations.bindPending(ctx.sessionManager.getBranch())),
	);

	pi.on(
		"agent_settled",
		guarded(async (_event, ctx) => {
			const { live } = lifecycle;
			if (live === undefined) return;
			await live.operations.bindPending(ctx.sessionManager.getBranch());
			await live.tracker.sweep();
			await live.operations.settle();
		}),
	);

	pi.on(
		"tool_call",
		guarded(async (event, ctx) => {
			const { live } = lifecycle;
			if (live === undefined) return;
			if (live.settings.trackedTools.includes(event.toolName)) {
				const path = toolPath(event.input, ctx);
				if (path !== undefined) return live.tracker.before(event.toolCallId, path);
			}
			const gap = toolGap(event.toolName, pi.getAllTools());
			if (gap !== undefined) live.operations.addGap(gap);
			await glimpse(live, Reflect.get(event.input, "command"), ctx);
		}),
	);

	pi.on(
		"tool_result",
		guarded((event, ctx) =>
			lifecycle.live?.tracker.after(event.toolCallId, toolPath(event.input, ctx), event.isError),
		),
	);

	// Also comes for calls that were blocked or aborted and never had a result.
	pi.on(
		"tool_execution_end",
		guarded((event) => lifecycle.live?.tracker.after(event.toolCallId, undefined, true)),
	);

	pi.on(
		"user_bash",
		guarded((event, ctx) => {
			lifecycle.live?.operations.addGap("user-bash");
			return glimpse(lifecycle.live, event.command, ctx);
		}),
	);

	return { lifecycle };
}
