/** Many calls at once, waiting calls, closing in between, and worker threads. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { existsSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { addon, addonPath, opened, rejects, scratch, sessionOptions } from "./support.mjs";

const workerFile = fileURLToPath(new URL("worker.mjs", import.meta.url));

test("a thousand calls at once are all answered, and each path is captured once", async (t) => {
	const { store, session, cwd, file } = await opened(t);
	const names = Array.from({ length: 500 }, (_, at) => file(`file-${at}.txt`));
	for (const name of names) writeFileSync(name, name);
	const results = await Promise.all([...names, ...names].map((name) => session.track(name)));
	assert.equal(results.filter((result) => result.status === "tracked").length, 500);
	assert.equal(results.filter((result) => result.status === "already").length, 500);
	const again = await store.openSession(sessionOptions(cwd));
	assert.equal(again.info().trackedFiles, 500);
});

test("two stores on one directory share a session", async (t) => {
	const { session, cwd, path, file } = await opened(t);
	const other = await addon.Store.open({ path });
	t.after(() => other.close());
	const twin = await other.openSession(sessionOptions(cwd));
	const calls = Array.from({ length: 100 }, (_, at) => [session, twin][at % 2].track(file(`${at >> 1}.txt`)));
	const results = await Promise.all(calls);
	assert.equal(results.length, 100);
	assert.equal((await session.snapshot({ kind: "manual", maxPoints: 0 })).point.files, 50);
	assert.equal((await twin.points()).length, 1);
});

test("a call that waits for a lock holds up neither the event loop nor Node's own file work, and gives up in time", {
	skip: spawnSync("flock", ["--version"]).error && "there is no flock program to hold the lock",
}, async (t) => {
	const { session, path, file } = await opened(t, { store: { lockWaitMs: 400 } });
	const holder = spawn("flock", ["--exclusive", "--no-fork", `${path}/locks/index`, "sh", "-c", "echo held; exec sleep 60"]);
	t.after(() => holder.kill());
	await once(holder.stdout, "data");
	const start = performance.now();
	// More than Node has threads for file work.
	const waiting = Array.from({ length: 8 }, (_, at) => rejects(session.track(file(`${at}.txt`)), "CANDY_LOCK_TIMEOUT"));
	await readFile(addonPath);
	await new Promise((resolve) => setTimeout(resolve, 1));
	assert.ok(performance.now() - start < 350, "nothing else had to wait");
	await waiting[0];
	assert.ok(performance.now() - start >= 390);
	holder.kill();
	await Promise.allSettled(waiting);
});

test("a collection does not hold up tracking", async (t) => {
	const { store, session, file } = await opened(t);
	const collecting = [store.gc(true), store.gc(true), store.gc(true)];
	const tracked = await session.track(file("a.txt"));
	assert.equal(tracked.status, "tracked");
	for (const report of await Promise.all(collecting)) assert.equal(typeof report.ran, "boolean");
});

test("calls made before a close are finished, calls made after it are refused", async (t) => {
	const { store, session, file, path, cwd } = await opened(t);
	const before = Array.from({ length: 50 }, (_, at) => session.track(file(`before-${at}`)));
	const collecting = store.gc(true).then(
		() => "done",
		(error) => error.code,
	);
	const closed = store.close();
	const after = Array.from({ length: 50 }, (_, at) => rejects(session.track(file(`after-${at}`)), "CANDY_CLOSED"));
	for (const result of await Promise.all(before)) assert.equal(result.status, "tracked");
	assert.equal(await closed, undefined);
	await Promise.all(after);
	assert.match(await collecting, /^(done|CANDY_CLOSED)$/);
	const again = await addon.Store.open({ path });
	const session2 = await again.openSession(sessionOptions(cwd));
	assert.equal(session2.info().trackedFiles, 50);
	await again.close();
});

test("objects nobody holds are collected without harm", async (t) => {
	const { path, cwd, file } = scratch(t);
	for (let round = 0; round < 20; round++) {
		const store = await addon.Store.open({ path });
		const session = await store.openSession(sessionOptions(cwd));
		void session.track(file(`${round}`)).catch(() => {});
	}
	globalThis.gc?.();
	const store = await addon.Store.open({ path });
	await store.close();
});

test("worker threads have stores of their own", async (t) => {
	const { path, cwd } = scratch(t);
	const workers = Array.from({ length: 3 }, (_, at) => {
		return new Worker(workerFile, { workerData: { addonPath, path, cwd, id: `worker-${at}`, stay: false } });
	});
	const answers = await Promise.all(workers.map(async (worker) => (await once(worker, "message"))[0]));
	assert.deepEqual(answers, Array(3).fill(50));
	await Promise.all(workers.map(async (worker) => worker.terminate()));
});

test("a worker thread that is terminated during its calls takes nothing down", async (t) => {
	const { path, cwd } = scratch(t);
	for (let round = 0; round < 10; round++) {
		const worker = new Worker(workerFile, { workerData: { addonPath, path, cwd, id: "stays", stay: true } });
		await once(worker, "message");
		await new Promise((resolve) => setTimeout(resolve, round));
		await worker.terminate();
	}
	const store = await addon.Store.open({ path });
	const session = await store.openSession(sessionOptions(cwd, { id: "stays" }));
	const trackedSoFar = async () => (await session.snapshot({ kind: "manual", maxPoints: 0 })).point.files;
	await new Promise((resolve) => setTimeout(resolve, 200));
	const tracked = await trackedSoFar();
	await new Promise((resolve) => setTimeout(resolve, 200));
	assert.equal(await trackedSoFar(), tracked, "calls that had not begun were given up");
	await store.close();
});

const CHILDREN = {
	"the addon only in a worker thread, terminated during calls": `
		const worker = new Worker(workerFile, { workerData: { addonPath, path, cwd, id: "child", stay: true } });
		await once(worker, "message");
		await worker.terminate();
		await new Promise((resolve) => setTimeout(resolve, 200));`,
	"process.exit during calls": `
		const { Store } = createRequire(import.meta.url)(addonPath);
		const store = await Store.open({ path });
		const session = await store.openSession({ id: "child", cwd, exclude: [], maxFileSizeBytes: 0 });
		for (let at = 0; at < 100; at++) void session.track(cwd + "/" + at);
		await session.track(cwd + "/first");
		process.exit(0);`,
	"nothing closed at the end": `
		const { Store } = createRequire(import.meta.url)(addonPath);
		const store = await Store.open({ path });
		await store.openSession({ id: "child", cwd, exclude: [], maxFileSizeBytes: 0 });`,
};

for (const [name, body] of Object.entries(CHILDREN)) {
	test(`a process ends quietly: ${name}`, (t) => {
		const { root, path, cwd } = scratch(t);
		const source = `
			import { createRequire } from "node:module";
			import { once } from "node:events";
			import { Worker } from "node:worker_threads";
			const [addonPath, workerFile, path, cwd] = process.argv.slice(2);
			${body}`;
		writeFileSync(`${root}/child.mjs`, source);
		const arguments_ = [`${root}/child.mjs`, addonPath, workerFile, path, cwd];
		const child = spawnSync(process.execPath, arguments_, { encoding: "utf8", timeout: 30_000 });
		assert.deepEqual([child.status, child.signal, child.stdout, child.stderr], [0, null, "", ""]);
		assert.ok(existsSync(`${path}/format`));
	});
}
