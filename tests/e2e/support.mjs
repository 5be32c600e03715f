/** What the tests of the plugin share: a sandbox with the plugin loaded, and short ways to say what a test does. */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PiRpc } from "./harness/pi-rpc-driver.mjs";
import { CURRENT_PI, createSandbox, piPackage } from "./harness/pi-sandbox.mjs";

const plugin = fileURLToPath(new URL("../../plugin/", import.meta.url));
export const extension = join(plugin, "extensions", "index.ts");
export const addon = join(plugin, "native", "pi-candy-undo.node");

/** Number of the user without rights that every system has. */
const NOBODY = 65534;

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
	/** Other settings of the plugin, for the pis that start from now on. */
	sandbox.configure = (changed) => {
		const file = join(sandbox.agentDir, "settings.json");
		const all = JSON.parse(readFileSync(file, "utf8"));
		writeFileSync(file, JSON.stringify({ ...all, candyUndo: { language: "en", ...changed } }));
	};
	/** Another extension, loaded after the plugin. `body` is that of a function that gets `pi`. */
	sandbox.extend = (name, body) => {
		const file = join(sandbox.root, `${name}.ts`);
		const imports = 'import { writeFileSync } from "node:fs";\nimport { createRequire } from "node:module";\n';
		writeFileSync(file, `${imports}export default (pi: any) => {\n${body}\n};\n`);
		sandbox.extensions.push(file);
		return file;
	};
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

/** Opens `/undo` for a row, cancels the menu, and returns the row, and the menu's title and entries. */
export async function menu(pi, row) {
	const shown = {};
	const look = (request, reply) => {
		Object.assign(shown, { title: request.title, options: request.options });
		reply({ cancelled: true });
	};
	const choose = (options) => (shown.row = options.find((option) => row.test(option)));
	await pi.command("/undo", [{ select: choose }, { hold: look }]);
	return shown;
}

/** Name and hash of every file below a folder. */
export function contents(folder) {
	return readdirSync(folder, { recursive: true })
		.map(String)
		.sort()
		.filter((name) => statSync(join(folder, name)).isFile())
		.map((name) => [
			name,
			createHash("sha256")
				.update(readFileSync(join(folder, name)))
				.digest("hex"),
		]);
}

/**
 * Makes the pi of a sandbox run without root's power to write everywhere. False where that cannot be done. Call it when
 * all files are there: they change hands.
 */
export function asNobody(s) {
	if (process.getuid?.() !== 0) return true;
	const drop = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"];
	try {
		execFileSync("setpriv", [...drop, s.node, ...s.piArgs("--version")], { env: s.env, stdio: "ignore" });
	} catch {
		return false;
	}
	s.spawn = (args, options = {}) =>
		spawn("setpriv", [...drop, s.node, ...s.piArgs(...args)], { cwd: s.cwd, env: s.env, ...options });
	execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, s.root]);
	return true;
}

/** Waits until `check` is true. */
export async function until(check, what, timeout = 15_000) {
	const end = Date.now() + timeout;
	while (!check()) {
		if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 25));
	}
}
