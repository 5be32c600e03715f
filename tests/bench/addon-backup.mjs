// Measures first backups through the native addon, in turns with the bare syncs that they cannot do without.
//
//   node addon-backup.mjs ADDON STORE WORKSPACE BASELINE...
//
// WORKSPACE holds the files; BASELINE is the command of a process that answers each line with the nanoseconds one bare
// append + fdatasync + one-row commit took. Prints one JSON document: the nanoseconds of each round, and what happened
// when the plugin was told of tool calls on files that it tracks already.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Tracker } from "../../plugin/src/tracker.ts";

const WARM_UP_ROUNDS = 20;
const AGAIN_CALLS = 1000;

const [addon, storePath, workspace, ...baselineCommand] = process.argv.slice(2);
const { Store } = createRequire(import.meta.url)(addon);

const files = readdirSync(workspace, { recursive: true, withFileTypes: true })
	.filter((entry) => entry.isFile())
	.map((entry) => join(entry.parentPath, entry.name));

const baseline = startBaseline(baselineCommand);
const store = await Store.open({ path: storePath, workspace });
const session = await store.openSession({ id: "bench", cwd: workspace, exclude: [], maxFileSizeBytes: 0 });

const baselineNs = [];
const trackNs = [];
for (const [round, file] of files.entries()) {
	// The one that goes first changes: neither always pays for what the other left to the disk.
	const order = round % 2 === 0 ? [runBaseline, runTrack] : [runTrack, runBaseline];
	for (const run of order) await run(round, file);
}
const again = await trackAgain(files.slice(0, 50));

await session.close();
await store.close();
baseline.close();
console.log(JSON.stringify({ baselineNs, trackNs, again }));

async function runBaseline(round) {
	const elapsed = await baseline.once();
	if (round >= WARM_UP_ROUNDS) baselineNs.push(elapsed);
}

async function runTrack(round, file) {
	const start = process.hrtime.bigint();
	const result = await session.track(file);
	const elapsed = Number(process.hrtime.bigint() - start);
	if (result.status !== "tracked") throw new Error(`${file}: ${JSON.stringify(result)}`);
	if (round >= WARM_UP_ROUNDS) trackNs.push(elapsed);
}

/** Lets the plugin's own tracker meet known files once more; counts its calls of the addon and the bytes moved. */
async function trackAgain(known) {
	let addonCalls = 0;
	const counted = {
		track: (path) => {
			addonCalls++;
			return session.track(path);
		},
		toolDone: (path, failed) => session.toolDone(path, failed),
	};
	const unexpected = (...what) => {
		throw new Error(`unexpected: ${what.map(String)}`);
	};
	const tracker = new Tracker(counted, {
		gap: unexpected,
		failed: unexpected,
		skipped: unexpected,
		pathChanged: unexpected,
	});
	for (const [number, file] of known.entries()) await tracker.before(`first-${number}`, file);
	const firstCalls = addonCalls;
	// A thread of Node's own may wake another one meanwhile, which moves 8 bytes: I/O of the tracker's would be there
	// every time.
	const quietest = { bytes: Number.POSITIVE_INFINITY, nsPerCall: 0 };
	for (let attempt = 0; attempt < 5 && quietest.bytes > 0; attempt++) {
		// Looking at the counters moves some bytes itself: two looks in a row tell how many.
		const looks = [bytesMoved(), bytesMoved()];
		const start = process.hrtime.bigint();
		for (let call = 0; call < AGAIN_CALLS; call++) {
			await tracker.before(`again-${attempt}-${call}`, known[call % known.length]);
		}
		const nsPerCall = Number(process.hrtime.bigint() - start) / AGAIN_CALLS;
		const bytes = Math.max(0, bytesMoved() - looks[1] - (looks[1] - looks[0]));
		if (bytes < quietest.bytes) Object.assign(quietest, { bytes, nsPerCall });
	}
	return { calls: AGAIN_CALLS, addonCalls: addonCalls - firstCalls, ...quietest };
}

/** Bytes this process has read and written so far; always 0 where the system does not tell (it does on Linux). */
function bytesMoved() {
	try {
		const text = readFileSync("/proc/self/io", "utf8");
		return Number(/^rchar: (\d+)$/m.exec(text)[1]) + Number(/^wchar: (\d+)$/m.exec(text)[1]);
	} catch {
		return 0;
	}
}

function startBaseline([program, ...args]) {
	const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
	const lines = createInterface({ input: child.stdout });
	const waiting = [];
	lines.on("line", (line) => waiting.shift()?.resolve(Number(line)));
	child.on("exit", (code) => {
		for (const one of waiting) one.reject(new Error(`the baseline ended with ${code}`));
	});
	return {
		once: () =>
			new Promise((resolve, reject) => {
				waiting.push({ resolve, reject });
				child.stdin.write("once\n");
			}),
		close: () => child.stdin.end(),
	};
}
