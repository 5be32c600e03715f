// Measures what the plugin costs a person who works with pi: the plugin's own handlers and the real addon, on a pi made of
// a session tree and events (plugin/test/stub-pi.ts).
//
//   node plugin.mjs ADDON WORKSPACE
//
// WORKSPACE is an empty directory. Prints one JSON document; times are milliseconds.

import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { StubPi } from "../../plugin/test/stub-pi.ts";

const TRACKED = 1000;
const MESSAGES = 100;
const CHANGED = 3;
const FILE_BYTES = 8 * 1024;
const PAGE = 12;
const PICKER_ROUNDS = 9;
const REWRITTEN_LINES = 10_000;
/** The monitor wakes up this often; a delay is what comes on top. */
const RESOLUTION_MS = 1;

const [addonPath, root] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(addonPath);

/** A pi whose events are timed. */
class TimedPi extends StubPi {
	times = new Map();

	async emit(type, fields) {
		const start = performance.now();
		const results = await super.emit(type, fields);
		const elapsed = performance.now() - start;
		if (!this.times.has(type)) this.times.set(type, []);
		this.times.get(type).push(elapsed);
		return results;
	}

	/** The times of an event since the last call. */
	take(type) {
		const taken = this.times.get(type) ?? [];
		this.times.delete(type);
		return taken;
	}
}

const name = (number) => `src/dir${number % 40}/file${number}.ts`;

function text(number, version) {
	const line = (at) => `export const value${at} = compute(${(number * 7919 + at * 104729) % 1000003}); // ${version}\n`;
	let content = "";
	for (let at = 0; content.length < FILE_BYTES; at++) content += line(at);
	return content;
}

const world = { root, cwd: join(root, "work"), home: join(root, "home") };
for (let number = 0; number < TRACKED; number++) {
	const path = join(world.cwd, name(number));
	mkdirSync(join(path, ".."), { recursive: true });
	writeFileSync(path, text(number, 0));
}
mkdirSync(world.home, { recursive: true });

let opened;
const pi = new TimedPi(world, { ports: { loadNative: () => addon, chooseInTerminal: fillAndCancel } });
pi.mode = "tui";
await pi.start();

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
const blocked = () => Math.max(0, delay.max / 1e6 - RESOLUTION_MS);

// The first message touches every file; each later one a few.
await pi.prompt("message 0", async () => {
	for (let number = 0; number < TRACKED; number++) await pi.write(name(number), text(number, 1));
});
const newFile = pi.take("tool_call");
pi.take("before_agent_start");
delay.enable();
for (let message = 1; message < MESSAGES; message++) {
	await pi.prompt(`message ${message}`, async () => {
		for (let edit = 0; edit < CHANGED; edit++) {
			const number = (message * 31 + edit * 331) % TRACKED;
			await pi.write(name(number), text(number, message + 1));
		}
	});
	// People type; without a pause every file would look as if it had just been written.
	await new Promise((done) => setTimeout(done, 30));
}
const blockedInRuns = blocked();
const beforeAgentStart = pi.take("before_agent_start");
const knownFile = pi.take("tool_call");

const picker = [];
let blockedInPicker = 0;
for (let round = 0; round < PICKER_ROUNDS; round++) {
	delay.reset();
	const start = performance.now();
	opened = undefined;
	await pi.command("undo");
	picker.push({ shown: opened.shown - start, firstRows: opened.page - start, allRows: opened.all - start });
	if (opened.rows !== MESSAGES) throw new Error(`${opened.rows} of ${MESSAGES} rows were counted`);
	blockedInPicker = Math.max(blockedInPicker, blocked());
}

const rewritten = await countRewrittenFile();
await pi.quit();
console.log(
	JSON.stringify({ beforeAgentStart, newFile, knownFile, picker, rewritten, blockedInRuns, blockedInPicker }),
);

/** The dialog: open until every row has its counts. */
async function fillAndCancel(_ctx, spec) {
	opened = { shown: performance.now(), rows: 0 };
	await spec.fill?.((_index, label) => {
		if (!/\d+ files? · /.test(label)) throw new Error(`a row without counts: ${label}`);
		opened.rows++;
		if (opened.rows === PAGE) opened.page = performance.now();
	}, new AbortController().signal);
	opened.all = performance.now();
	return undefined;
}

/** A file whose every line is another one, as the plan for the menu counts it. */
async function countRewrittenFile() {
	const lines = (salt) => Array.from({ length: REWRITTEN_LINES }, (_, at) => `${salt} ${at * 7919}\n`).join("");
	const store = await addon.Store.open({ path: join(root, "other-store"), workspace: world.cwd });
	const session = await store.openSession({ id: "s", cwd: world.cwd, exclude: [], maxFileSizeBytes: 0 });
	const path = join(world.cwd, "long.txt");
	writeFileSync(path, lines("old"));
	await session.track(path);
	const { point } = await session.snapshot({ kind: "operation", maxPoints: 0 });
	writeFileSync(path, lines("new"));
	const times = [];
	for (let round = 0; round < 5; round++) {
		const start = performance.now();
		const plan = await session.plan({ pointId: point.id, lineCounts: true });
		times.push(performance.now() - start);
		if (plan.added !== REWRITTEN_LINES || plan.removed !== REWRITTEN_LINES) throw new Error(JSON.stringify(plan));
	}
	await session.close();
	await store.close();
	return times;
}
