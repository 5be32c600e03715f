/** Failures arrive as errors with a code and a hint; wrong arguments never reach the engine. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { addon, opened, rejects, scratch, sessionOptions } from "./support.mjs";

const NO_ID = "0".repeat(32);

test("a store in the workspace is refused, by identity", async (t) => {
	const { cwd, root } = scratch(t);
	symlinkSync(cwd, `${root}/alias`);
	for (const path of [`${cwd}/.store`, `${root}/alias/deep/store`]) {
		const error = await rejects(addon.Store.open({ path, workspace: cwd }), "CANDY_STORE_IN_WORKSPACE", { path });
		assert.match(error.message, /inside the workspace/);
	}
});

test("what is no store is refused", async (t) => {
	const { root } = scratch(t);
	mkdirSync(`${root}/other`, { mode: 0o700 });
	writeFileSync(`${root}/other/notes.txt`, "mine");
	await rejects(addon.Store.open({ path: `${root}/other` }), "CANDY_NOT_A_STORE", { path: `${root}/other` });
	await rejects(addon.Store.open({ path: "relative" }), "CANDY_BAD_ARGUMENT", { path: "relative" });
	mkdirSync(`${root}/wide`);
	chmodSync(`${root}/wide`, 0o777); // mkdir would apply the umask
	await rejects(addon.Store.open({ path: `${root}/wide` }), "CANDY_NOT_OWNER");
});

test("a session keeps to its workspace and its rules for names", async (t) => {
	const { store, cwd, root } = await opened(t);
	await rejects(store.openSession(sessionOptions(root)), "CANDY_CONFLICT", { path: root });
	await rejects(store.openSession(sessionOptions("work", { id: "x" })), "CANDY_BAD_ARGUMENT");
	await rejects(store.openSession(sessionOptions(cwd, { id: "" })), "CANDY_BAD_NAME");
	await rejects(store.openSession(sessionOptions(cwd, { id: "x".repeat(256) })), "CANDY_BAD_NAME");
	await rejects(store.openSession(sessionOptions(cwd, { id: "x", exclude: ["a["] })), "CANDY_BAD_ARGUMENT");
});

test("paths that cannot be tracked are refused", async (t) => {
	const { session, file } = await opened(t);
	await rejects(session.track("a.txt"), "CANDY_BAD_ARGUMENT", { path: "a.txt" });
	const error = await session.track(file("a\0b")).then(() => assert.fail("a NUL is in no path"), (thrown) => thrown);
	assert.match(error.code, /^CANDY_/);
});

test("unknown points, plans and files are not found", async (t) => {
	const { session, file } = await opened(t);
	await rejects(session.bind(NO_ID, "entry"), "CANDY_NOT_FOUND");
	await rejects(session.addGaps(NO_ID, ["bash"]), "CANDY_NOT_FOUND");
	await rejects(session.plan({ pointId: NO_ID, lineCounts: false }), "CANDY_NOT_FOUND");
	await rejects(session.apply(1, { maxPoints: 0 }), "CANDY_NOT_FOUND");
	await rejects(session.diff(1, file("a.txt")), "CANDY_NOT_FOUND");
	await rejects(session.redoPush({ type: "code", pointId: NO_ID, maxItems: 1 }), "CANDY_NOT_FOUND");
	const plan = await session.plan({ entryId: "entry", lineCounts: false });
	await rejects(session.diff(plan.planId, file("unknown.txt")), "CANDY_NOT_FOUND");
});

test("words, numbers and identifiers outside their range are refused", async (t) => {
	const { store, session, cwd } = await opened(t);
	const code = "CANDY_BAD_ARGUMENT";
	await rejects(session.snapshot({ kind: "other", maxPoints: 0 }), code);
	await rejects(session.resumeRestore(NO_ID, "perhaps"), code);
	await rejects(session.redoPush({ type: "files", maxItems: 1 }), code);
	await rejects(session.plan({ lineCounts: false }), code);
	for (const id of ["", "abc", "z".repeat(32), "0".repeat(33), "é".repeat(16)]) await rejects(session.bind(id, "e"), code);
	for (const bad of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
		await rejects(session.snapshot({ kind: "manual", maxPoints: bad }), code);
		await rejects(session.apply(bad, { maxPoints: 0 }), code);
		await rejects(session.diff(bad, cwd), code);
		await rejects(store.expireSessions(bad), code);
		await rejects(store.openSession(sessionOptions(cwd, { maxFileSizeBytes: bad })), code);
		await rejects(addon.Store.open({ path: "/nowhere", lockWaitMs: bad }), code);
	}
	assert.equal(await store.expireSessions(Number.MAX_SAFE_INTEGER), 0);
	const patient = await addon.Store.open({ path: `${cwd}/../patient`, lockWaitMs: Number.MAX_SAFE_INTEGER });
	await patient.close();
});

test("wrong types throw at once", async (t) => {
	const { store, session, cwd } = await opened(t);
	const wrong = [undefined, null, 5, "text", true, Symbol("s"), 5n, {}, [], () => {}];
	const except = (...right) => wrong.filter((value) => !right.includes(typeof value));
	const calls = [
		...except("object", "function").map((value) => () => addon.Store.open(value)),
		...except("string").flatMap((value) => [
			() => addon.Store.open({ path: value }),
			() => store.hasSession(value),
			() => store.fork(value, "b", cwd),
			() => store.fork("a", value, cwd),
			() => store.fork("a", "b", value),
			() => session.track(value),
			() => session.toolDone(value, true),
			() => session.bind(value, "e"),
			() => session.bind(NO_ID, value),
			() => session.addGaps(NO_ID, [value]),
			() => session.diff(1, value),
			() => session.resumeRestore(value, "finish"),
			() => session.resumeRestore(NO_ID, value),
			() => store.openSession(sessionOptions(cwd, { id: value })),
			() => store.openSession(sessionOptions(cwd, { exclude: [value] })),
			() => session.snapshot({ kind: value, maxPoints: 0 }),
			() => session.redoPush({ type: value, maxItems: 0 }),
		]),
		...except("number").flatMap((value) => [
			() => store.expireSessions(value),
			() => session.diff(value, cwd),
			() => session.apply(value, { maxPoints: 0 }),
			() => session.apply(1, { maxPoints: value }),
			() => session.snapshot({ kind: "manual", maxPoints: value }),
		]),
		...except("boolean").flatMap((value) => [
			() => store.gc(value),
			() => session.toolDone("/x", value),
			() => session.plan({ entryId: "e", lineCounts: value }),
		]),
		() => session.addGaps(NO_ID, 5),
		() => session.snapshot(),
		() => session.plan(),
		() => session.plan({ entryId: "e", branch: "e", lineCounts: false }),
		() => session.apply(1),
		() => session.redoPush(),
		() => new addon.Store(),
		() => new addon.Session(),
		() => addon.Store(),
		() => addon.Session.prototype.track.call({}, "/x"),
		() => addon.Session.prototype.track.call(store, "/x"),
		() => addon.Store.prototype.info.call(session),
		() => addon.Store.prototype.info.call(Object.create(addon.Store.prototype)),
		() => addon.Store.prototype.close.call(undefined),
	];
	for (const call of calls) assert.throws(call, Error, call.toString());
	assert.deepEqual(await session.points(), [], "the session still works");
});

test("a getter that throws is the caller's own error", async (t) => {
	const { session } = await opened(t);
	const options = {
		kind: "manual",
		get maxPoints() {
			throw new RangeError("mine");
		},
	};
	assert.throws(() => session.snapshot(options), /mine/);
});

test("a closed session and a closed store say so", async (t) => {
	const { store, session, cwd, file } = await opened(t);
	const other = await store.openSession(sessionOptions(cwd, { id: "other" }));
	await session.close();
	await session.close();
	await rejects(session.track(file("a.txt")), "CANDY_CLOSED");
	await rejects(session.points(), "CANDY_CLOSED");
	assert.equal((await other.track(file("a.txt"))).status, "tracked", "the other session is still open");
	await store.close();
	await store.close();
	await session.close();
	for (const call of [
		() => other.track(file("a.txt")),
		() => other.toolDone(file("a.txt"), false),
		() => other.snapshot({ kind: "manual", maxPoints: 0 }),
		() => other.points(),
		() => other.plan({ entryId: "e", lineCounts: false }),
		() => other.diff(1, file("a.txt")),
		() => other.apply(1, { maxPoints: 0 }),
		() => other.resumeRestore(NO_ID, "finish"),
		() => other.bind(NO_ID, "e"),
		() => other.addGaps(NO_ID, []),
		() => other.redoPush({ type: "conversation", maxItems: 1 }),
		() => other.redoPeek(),
		() => other.redoPop(),
		() => other.redoClear(),
		() => store.hasSession("other"),
		() => store.openSession(sessionOptions(cwd)),
		() => store.fork("a", "b", cwd),
		() => store.expireSessions(1),
		() => store.gc(true),
	]) {
		await rejects(call(), "CANDY_CLOSED");
	}
	assert.equal(store.info().created, true, "what was read at the start can still be asked for");
});
