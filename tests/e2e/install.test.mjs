/** The packed plugin and its platform package, installed by pi itself from a registry. */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { packFolder, startFakeRegistry } from "./harness/fake-registry.mjs";
import { PiRpc } from "./harness/pi-rpc-driver.mjs";
import { createSandbox } from "./harness/pi-sandbox.mjs";
import { candySandbox, extension, undo } from "./support.mjs";

const plugin = dirname(dirname(extension));

test("the packed plugin finds its binary in the platform package", { timeout: 180_000 }, async (t) => {
	await candySandbox(t); // Says so when the addon is not built.
	const s = await createSandbox({ settings: { candyUndo: { language: "en" } } });
	t.after(() => s.dispose());
	const platform = join(s.root, "platform");
	mkdirSync(platform);
	copyFileSync(join(plugin, "native", "pi-candy-undo.node"), join(platform, "pi-candy-undo.node"));
	const musl = process.report?.getReport().header.glibcVersionRuntime === undefined;
	const libc = process.platform === "linux" ? (musl ? "-musl" : "-gnu") : "";
	const name = `pi-candy-undo-${process.platform}-${process.arch}${libc}`;
	writeFileSync(
		join(platform, "package.json"),
		JSON.stringify({ name, version: "0.1.0", main: "pi-candy-undo.node" }),
	);

	const main = packFolder(plugin);
	assert.ok(main.files.includes("extensions/index.ts") && main.files.includes("src/plugin.ts"));
	assert.deepEqual(
		main.files.filter((file) => /\.node$|^test\/|\.rs$|node_modules/.test(file)),
		[],
	);
	// As published: the platform packages become optional dependencies.
	const published = join(s.root, "published");
	for (const file of main.files) {
		mkdirSync(dirname(join(published, file)), { recursive: true });
		copyFileSync(join(plugin, file), join(published, file));
	}
	const manifest = JSON.parse(readFileSync(join(plugin, "package.json"), "utf8"));
	writeFileSync(
		join(published, "package.json"),
		JSON.stringify({ ...manifest, optionalDependencies: { [name]: "0.1.0" } }),
	);

	const registry = await startFakeRegistry([packFolder(published), packFolder(platform)]);
	t.after(() => registry.close());
	Object.assign(s.env, registry.env, { PI_OFFLINE: "" });
	const installed = await s.run(["install", "npm:pi-candy-undo"], { bare: true, timeout: 120_000 });
	assert.equal(installed.code, 0, installed.stdout + installed.stderr);

	s.env.PI_OFFLINE = "1";
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	await undo(pi, /WRITE a/);
	assert.equal(s.exists("a.txt"), false);
	assert.deepEqual(pi.extensionErrors, []);
	await pi.close();
});

test("without a binary: one notice with the next step, and the agent works", { timeout: 90_000 }, async (t) => {
	const s = await createSandbox({ settings: { candyUndo: { language: "en" } } });
	t.after(() => s.dispose());
	const copy = join(s.root, "plugin");
	for (const file of packFolder(plugin).files) {
		mkdirSync(dirname(join(copy, file)), { recursive: true });
		copyFileSync(join(plugin, file), join(copy, file));
	}
	s.piArgs = (
		(piArgs) =>
		(...extra) => [...piArgs(), "-e", join(copy, "extensions", "index.ts"), ...extra]
	)(s.piArgs);
	const pi = await PiRpc.start(s);
	await pi.prompt("WRITE a.txt one");
	assert.equal(s.read("a.txt"), "one");
	assert.equal(pi.notifications.length, 1);
	assert.match(
		pi.notifications[0].message,
		/native part does not load on this machine \(.*\)\. Reinstall the package/,
	);
	assert.match((await pi.command("/undo"))[0].message, /native part does not load/);
	assert.deepEqual(pi.extensionErrors, []);
});
