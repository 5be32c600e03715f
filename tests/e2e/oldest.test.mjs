/** The oldest pi that is supported: that it is the one installed, and the keyboard. `testOnEachPi` covers the rest. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { piPackage } from "./harness/pi-sandbox.mjs";
import { PiTui, tmuxAvailable } from "./harness/tmux-driver.mjs";
import { candySandbox, OLDEST_PI } from "./support.mjs";

const skip = (await tmuxAvailable()) ? false : "tmux is not installed";

test("both pis are pinned to one version each, and the lock file names no address to fetch from", () => {
	const file = (name) => readFileSync(new URL(name, import.meta.url), "utf8");
	const { devDependencies } = JSON.parse(file("package.json"));
	for (const [name, wanted] of Object.entries(devDependencies)) assert.match(wanted, /(^|@)\d+\.\d+\.\d+$/, name);
	assert.equal(devDependencies[OLDEST_PI], "npm:@earendil-works/pi-coding-agent@0.84.4");
	// Whoever installs uses the registry of their own configuration.
	assert.doesNotMatch(file("package-lock.json"), /"resolved"/);
	if (!process.env.PI_PACKAGE) assert.equal(piPackage(OLDEST_PI).manifest.version, "0.84.4");
});

test("undo and redo with the keyboard of the oldest pi", { timeout: 120_000, skip }, async (t) => {
	const s = await candySandbox(t, { pi: OLDEST_PI });
	const tui = await PiTui.start(s);
	await tui.submit("MULTI WRITE a.txt one ;; SAY ready-one");
	assert.doesNotMatch(await tui.waitFor(/^ *ready-one$/m), /Startup is still in progress/);
	await tui.submit("/undo");
	await tui.waitFor(/→ 1\. MULTI WRITE a\.txt one ;; SAY ready-one · 1 file · \+0 -1/);
	await tui.keys("Enter");
	await tui.waitFor(/→ Restore code and conversation/);
	// Sooner, nobody can have read what it says, and the key does not count.
	await new Promise((resolve) => setTimeout(resolve, 300));
	await tui.keys("Enter");
	await tui.waitFor(/1 file restored\./);
	assert.equal(s.exists("a.txt"), false);
	// The prompt is back in the editor, between its two borders.
	await tui.waitFor(/─\nMULTI WRITE a\.txt one ;; SAY ready-one\n─/);
	await tui.keys("C-u");
	await tui.submit("/redo");
	await tui.waitFor(/1 file put back\./);
	assert.equal(s.read("a.txt"), "one");
	assert.equal(await tui.quit(), true);
});
