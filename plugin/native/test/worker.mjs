/** Runs in a worker thread: tracks fifty files, then says how many, or stays with more calls on the way. */
import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";

const { addonPath, path, cwd, id, stay } = workerData;
const { Store } = createRequire(import.meta.url)(addonPath);

const store = await Store.open({ path });
const session = await store.openSession({ id, cwd, exclude: [], maxFileSizeBytes: 0 });
if (stay) {
	for (let at = 0; at < 200; at++) session.track(`${cwd}/${at}`).catch(() => {});
	void store.gc(true);
	parentPort.postMessage("busy");
} else {
	const results = await Promise.all(Array.from({ length: 50 }, (_, at) => session.track(`${cwd}/${id}-${at}`)));
	await store.close();
	parentPort.postMessage(results.filter((result) => result.status === "tracked").length);
}
