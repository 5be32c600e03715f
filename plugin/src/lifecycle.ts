/** Opens the history when a session starts, gives it back when it ends, and knows why it is off. */
import type { ExtensionAPI, ExtensionContext, SessionStartEvent } from "@earendil-works/pi-coding-agent";
import type { BranchEntry } from "./branch.ts";
import { type CandyError, toCandyError } from "./errors.ts";
import { Footer } from "./footer.ts";
import { type LiveOptions, LiveSession } from "./live.ts";
import { NO_LOG, openLog } from "./log.ts";
import { explain, Notices } from "./notices.ts";
import type { SessionOrigin } from "./origin.ts";
import type { Ports } from "./ports.ts";
import { parseSettings, type Settings, type SettingsWarning, storePlaces } from "./settings.ts";
import { fillNulls, readSettingsFiles } from "./settings-source.ts";
import { chosenLanguage, Texts } from "./text/index.ts";

/** The first cleanup waits until the user is surely not waiting for the start any more. */
const TIDY_DELAY_MS = 60_000;

export type State =
	| { kind: "on"; live: LiveSession }
	/** `retry`: what to try again at the next prompt, where the cause may go away by itself. */
	| { kind: "off"; reason: string; retry?: Omit<LiveOptions, "addon"> };

export class Lifecycle {
	readonly #pi: ExtensionAPI;
	readonly #ports: Ports;
	#texts: Texts;
	#state: State;
	#settings: Settings | undefined;
	#notices: Notices | undefined;
	#timer: NodeJS.Timeout | undefined;
	#footer: Footer | undefined;
	#branch: () => readonly BranchEntry[] = () => [];

	constructor(pi: ExtensionAPI, ports: Ports) {
		this.#pi = pi;
		this.#ports = ports;
		// Before a session starts there are no merged settings: the user's own file names the language.
		const early = parseSettings(readSettingsFiles(ports.files, "", false).section);
		this.#texts = textsOf(early.settings);
		this.#state = { kind: "off", reason: this.#texts.t("off.starting") };
	}

	get state(): State {
		return this.#state;
	}

	get texts(): Texts {
		return this.#texts;
	}

	get settings(): Settings | undefined {
		return this.#settings;
	}

	get notices(): Notices | undefined {
		return this.#notices;
	}

	/** The branch of the present session; empty where there is none. */
	branch(): readonly BranchEntry[] {
		try {
			return this.#branch();
		} catch {
			// pi takes the context away when a session ends.
			return [];
		}
	}

	/** The open session, for handlers that have nothing to do without one. */
	get live(): LiveSession | undefined {
		return this.#state.kind === "on" ? this.#state.live : undefined;
	}

	async start(event: SessionStartEvent, ctx: ExtensionContext): Promise<void> {
		await this.stop({ tidy: false });
		const { settings, warnings, unreadable } = this.#readSettings(ctx);
		this.#settings = settings;
		this.#texts = textsOf(settings);
		// Without a user interface nothing may be written, so nothing is even opened.
		if (!ctx.hasUI) return this.#turnOff("off.noUi");
		this.#branch = () => ctx.sessionManager.getBranch();
		const footer = new Footer((text) => ctx.ui.setStatus("candy-undo", text), this.#texts);
		this.#footer = footer;
		const notices = new Notices(
			(message, level) => ctx.ui.notify(message, level),
			() => this.#texts,
		);
		this.#notices = notices;
		this.#warn(notices, warnings, unreadable);
		if (!settings.enabled) return this.#turnOff("off.disabled");
		const places = storePlaces(settings, this.#ports);
		await this.#open({
			settings,
			texts: this.#texts,
			notices,
			footer,
			log: settings.log ? openLog(places.log, this.#ports.now) : NO_LOG,
			storePath: places.store,
			cwd: ctx.cwd,
			sessionId: ctx.sessionManager.getSessionId(),
			parentFile: parentFile(event, ctx),
			parent: event.reason === "fork" ? takeForked() : undefined,
		});
		this.#scheduleTidy(ctx);
	}

	/** Before a run: the disk may have space again, the folder may be writable again. */
	async retry(): Promise<void> {
		if (this.#state.kind !== "off" || this.#state.retry === undefined) return;
		await this.#open(this.#state.retry);
		if (this.live !== undefined) this.#notices?.once("on-again", "info", "on.again");
	}

	async stop(options: { tidy: boolean }): Promise<void> {
		clearTimeout(this.#timer);
		const { live } = this;
		this.#footer?.show("on");
		this.#footer = undefined;
		this.#branch = () => [];
		this.#state = { kind: "off", reason: this.#texts.t("off.starting") };
		await live?.close(options);
	}

	async #open(options: Omit<LiveOptions, "addon">): Promise<void> {
		const { notices, log } = options;
		let error: CandyError;
		try {
			const live = await LiveSession.open({ ...options, addon: this.#ports.loadNative() });
			this.#state = { kind: "on", live };
			options.footer.show("on");
			const files = live.unfinished.reduce((sum, restore) => sum + restore.files, 0);
			if (live.unfinished.length > 0) notices.once("unfinished", "warning", "unfinished.notice", { count: files });
			return;
		} catch (thrown) {
			error = toCandyError(thrown);
		}
		options.footer.show("off");
		log.write("open failed", { code: error.code, message: error.message });
		if (error.code === "CANDY_NO_ADDON") {
			const reason = this.#texts.t("off.noAddon", { reason: error.message });
			notices.once("no-addon", "error", "notice.off", { reason });
			this.#state = { kind: "off", reason };
			return;
		}
		const reason = explain(this.#texts, error);
		notices.once(`open:${error.code}`, "error", "notice.off", { reason });
		this.#state = { kind: "off", reason, retry: options };
	}

	#turnOff(key: "off.noUi" | "off.disabled"): void {
		this.#state = { kind: "off", reason: this.#texts.t(key) };
	}

	#readSettings(ctx: ExtensionContext): { settings: Settings; warnings: SettingsWarning[]; unreadable: string[] } {
		const files = readSettingsFiles(this.#ports.files, ctx.cwd, ctx.isProjectTrusted());
		// pi has merged its settings since 1.0; older ones leave the reading to us.
		const section: unknown =
			typeof this.#pi.getSettings === "function" ? Reflect.get(this.#pi.getSettings(), "candyUndo") : files.section;
		const { settings, warnings } = parseSettings(fillNulls(section, files.section));
		// What an unreadable file says about keeping history is unknown, so nothing is deleted.
		if (files.unreadable.length > 0) settings.cleanupPeriodDays = 0;
		return { settings, warnings, unreadable: files.unreadable };
	}

	#warn(notices: Notices, warnings: readonly SettingsWarning[], unreadable: readonly string[]): void {
		const parts = [
			...warnings.map(({ key, value, used }) => this.#texts.t("notice.setting", { key, value, used })),
			...unreadable.map((path) => this.#texts.t("notice.settingsFile", { path })),
		];
		if (parts.length > 0) notices.once("settings", "warning", "notice.settings", { list: this.#texts.list(parts) });
	}

	#scheduleTidy(ctx: ExtensionContext): void {
		this.#timer = setTimeout(() => {
			if (ctx.isIdle()) void this.live?.tidy();
			else this.#scheduleTidy(ctx);
		}, TIDY_DELAY_MS);
		this.#timer.unref();
	}
}

function textsOf(settings: Pick<Settings, "language">): Texts {
	return new Texts(chosenLanguage(settings.language, Intl.DateTimeFormat().resolvedOptions().locale));
}

/** The session that ends for a fork. pi runs the extension anew for the next one, but keeps its modules. */
let forked: SessionOrigin | undefined;

export function noteForked(ctx: ExtensionContext): void {
	forked = { id: ctx.sessionManager.getSessionId(), cwd: ctx.cwd };
}

function takeForked(): SessionOrigin | undefined {
	const taken = forked;
	forked = undefined;
	return taken;
}

/** Only a fork inside pi reports where it came from; one from the command line is known by its header. */
function parentFile(event: SessionStartEvent, ctx: ExtensionContext): string | undefined {
	if (event.reason === "fork" && event.previousSessionFile !== undefined) return event.previousSessionFile;
	return ctx.sessionManager.getHeader()?.parentSession;
}
