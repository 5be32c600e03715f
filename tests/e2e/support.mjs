/** What the tests of the plugin share: a sandbox with the plugin loaded, and short ways to say what a test does. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PiRpc } from "./harness/pi-rpc-driver.mjs";
import { CURRENT_PI, createSandbox, piPackage } from "./harness/pi-sandbox.mjs";

const plugin = fileURLToPath(new URL("../../plugin/", import.meta.url));
export const extension = join(plugin, "extensions", "index.ts");
const addon = join(plugin, "native", "pi-candy-undo.node");

export const BOTH = { select: "Restore code and conversation" };
export const CODE = { select: /^Restore code$/ };
export const CONVERSATION = { select: /^Restore conversation$/ };
export const NEVER_MIND = { select: /^Never mind$/ };

/** The oldest pi that the plugin supports, under the name that package.json gives it. */
export const OLDEST_PI = "pi-0844";

/**
 * A test for every supported pi: what the plugin is for must hold on the oldest as on the newest. The body gets the pi
 * to hand to `candySandbox`.
 */
export function testOnEachPi(name, options, body) {
	// `$PI_PACKAGE` makes both the same, and running it twice would prove nothing.
	const pis = new Map([CURRENT_PI, OLDEST_PI].map((pi) => [piPackage(pi).folder, pi]));
	for (const [folder, pi] of pis) {
		const { version } = piPackage(folder).manifest;
		test(`${name} (pi ${version})`, options, (t) => body(t, pi));
	}
}

/** A sandbox whose pi has the plugin. `candyUndo` are the plugin's settings; texts are English unless it says otherwise. */
export async function candySandbox(t, { candyUndo = {}, settings = {}, ...options } = {}) {
	if (!existsSync(addon)) throw new Error(`${addon} is missing: build it first (cargo xtask addon)`);
	const sandbox = await createSandbox({
		extensions: [extension],
		...options,
		settings: { ...settings, candyUndo: { language: "en", ...candyUndo } },
	});
	t?.after(() => sandbox.dispose());
	sandbox.store = join(sandbox.home, ".pi", "candy-store");
	return sandbox;
}

export { PiRpc };

/** The messages of notifications that are not plain results. */
export function problems(pi) {
	return pi.notifications.filter(({ type }) => type !== "info").map(({ message }) => message);
}

/** Runs `/undo` for the row that matches and the given menu entry; returns what it said. */
export async function undo(pi, row, action = BOTH) {
	const said = await pi.command("/undo", [{ select: row, title: "Rewind" }, action]);
	return said.map(({ message }) => message).join("\n");
}

export async function redo(pi) {
	return (await pi.command("/redo")).map(({ message }) => message).join("\n");
}

/** Opens `/undo`, cancels, and returns the rows that it showed. */
export async function rows(pi) {
	let shown = [];
	await pi.command("/undo", [
		{
			hold: (request, reply) => {
				shown = request.options;
				reply({ cancelled: true });
			},
		},
	]);
	return shown;
}

/** Waits until `check` is true. */
export async function until(check, what, timeout = 15_000) {
	const end = Date.now() + timeout;
	while (!check()) {
		if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 25));
	}
}
