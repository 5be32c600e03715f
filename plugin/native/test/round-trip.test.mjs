/** Every method with the types that `index.d.ts` promises. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { OUTCOME, POINT, addon, opened, rejects, scratch, sessionOptions, shape } from "./support.mjs";

const HEX_ID = /^[0-9a-f]{32}$/;

test("the exports are those of the contract", () => {
	assert.deepEqual(Object.keys(addon).sort(), ["Session", "Store", "version"]);
	assert.match(addon.version(), /^\d+\.\d+\.\d+/);
	const methods = (type) => Object.getOwnPropertyNames(type.prototype).filter((name) => name !== "constructor").sort();
	assert.deepEqual(methods(addon.Store), [
		"close",
		"expireSessions",
		"fork",
		"gc",
		"hasSession",
		"info",
		"openSession",
	]);
	assert.deepEqual(methods(addon.Session), [
		"addGaps",
		"apply",
		"bind",
		"close",
		"diff",
		"glimpse",
		"info",
		"plan",
		"points",
		"redoClear",
		"redoPeek",
		"redoPop",
		"redoPush",
		"resumeRestore",
		"snapshot",
		"survey",
		"surveyRows",
		"toolDone",
		"track",
	]);
});

test("a store is made once and found again", async (t) => {
	const { path, cwd } = scratch(t);
	const first = await addon.Store.open({ path, workspace: cwd });
	shape(first.info(), { id: "string", path: "string", created: "boolean", formatVersion: "number" });
	assert.match(first.info().id, HEX_ID);
	assert.equal(first.info().path, path);
	assert.equal(first.info().created, true);
	assert.equal(statSync(path).mode & 0o777, 0o700);
	await first.close();
	const second = await addon.Store.open({ path, lockWaitMs: 1 });
	assert.deepEqual(second.info(), { ...first.info(), created: false });
	await second.close();
});

test("a session is made once and found again", async (t) => {
	const { store, session, cwd, file } = await opened(t);
	assert.deepEqual(session.info(), { id: "session-1", created: true, points: 0, trackedFiles: 0, unfinished: [] });
	assert.equal(await store.hasSession("session-1"), true);
	assert.equal(await store.hasSession("session-2"), false);
	writeFileSync(file("a.txt"), "a");
	await session.track(file("a.txt"));
	await session.snapshot({ kind: "baseline", maxPoints: 0 });
	assert.equal(await session.close(), undefined);
	const again = await store.openSession(sessionOptions(cwd));
	assert.deepEqual(again.info(), { id: "session-1", created: false, points: 1, trackedFiles: 1, unfinished: [] });
});

test("track says what became of a path", async (t) => {
	const { session, cwd, file, path } = await opened(t, {
		session: { exclude: ["*.lock", "!keep.lock"], maxFileSizeBytes: 10 },
	});
	writeFileSync(file("a.txt"), "hello");
	const tracked = { status: "tracked", cacheable: true };
	assert.deepEqual(await session.track(file("a.txt")), {
		...tracked,
		path: file("a.txt"),
		absent: false,
		sizeBytes: 5,
	});
	assert.deepEqual(await session.track(file("a.txt")), { status: "already", cacheable: true, path: file("a.txt") });
	assert.deepEqual(await session.track(file("new.txt")), { ...tracked, path: file("new.txt"), absent: true });
	writeFileSync(file("keep.lock"), "");
	assert.equal((await session.track(file("keep.lock"))).sizeBytes, 0);

	const skipped = async (name, reason) => {
		const result = await session.track(name);
		shape(result, { status: "string", reason: "string", path: "string", cacheable: "boolean", "detail?": "string" });
		assert.deepEqual([result.status, result.reason], ["skipped", reason]);
		return result;
	};
	await skipped(file("yarn.lock"), "excluded");
	writeFileSync(file("big.bin"), "x".repeat(11));
	assert.equal(typeof (await skipped(file("big.bin"), "too-large")).detail, "string");
	mkdirSync(file("folder"));
	await skipped(file("folder"), "not-a-file");
	await skipped(`${path}/format`, "store");

	symlinkSync(cwd, file("link"));
	const linked = await session.track(file("link/a.txt"));
	assert.deepEqual(linked, { status: "already", cacheable: false, path: file("a.txt") });
});

test("names beyond ASCII come through", async (t) => {
	const { session, file } = await opened(t);
	for (const name of ["naïve.txt", "名前.txt", "🍬 candy.txt", "..hidden", "back\\slash", 'quote"', "line\nbreak"]) {
		writeFileSync(file(name), name);
		assert.equal((await session.track(file(name))).path, realpathSync(file(name)));
	}
	const prompt = "撤销 🍬".repeat(100);
	const { point } = await session.snapshot({ kind: "manual", prompt, entryId: "entrée", maxPoints: 0 });
	assert.equal(point.prompt, [...prompt].slice(0, 200).join(""));
	assert.equal(point.entryId, "entrée");
});

test("points are taken, bound, marked and listed", async (t) => {
	const { session, file } = await opened(t);
	writeFileSync(file("a.txt"), "one");
	await session.track(file("a.txt"));
	const before = Date.now();
	const first = await session.snapshot({ kind: "baseline", maxPoints: 0 });
	shape(first, { point: "object", notCaptured: "array", dropped: "number" });
	shape(first.point, POINT);
	assert.match(first.point.id, HEX_ID);
	assert.ok(Math.abs(first.point.createdAt - before) < 60_000);
	assert.deepEqual([first.point.files, first.point.changed, first.point.kind], [1, 1, "baseline"]);

	writeFileSync(file("a.txt"), "two!");
	const second = await session.snapshot({ kind: "operation", prompt: "do it", maxPoints: 100 });
	assert.equal(second.point.seq, first.point.seq + 1);
	assert.equal(await session.bind(second.point.id, "message-1"), undefined);
	assert.equal(await session.addGaps(second.point.id, ["bash", "too-large"]), undefined);
	const points = await session.points();
	assert.deepEqual(points, [
		first.point,
		{ ...second.point, entryId: "message-1", gaps: ["bash", "too-large"] },
	]);
	for (const kind of ["redo-point", "manual", "kept"]) {
		assert.equal((await session.snapshot({ kind, maxPoints: 0 })).point.kind, kind);
	}
});

test("a snapshot names what it could not capture, and what the cap dropped", async (t) => {
	const { session, file } = await opened(t, { session: { maxFileSizeBytes: 10 } });
	writeFileSync(file("a.txt"), "small");
	await session.track(file("a.txt"));
	writeFileSync(file("a.txt"), "too large by now");
	const { notCaptured } = await session.snapshot({ kind: "operation", maxPoints: 2 });
	assert.equal(notCaptured.length, 1);
	shape(notCaptured[0], { path: "string", reason: "string", "detail?": "string" });
	assert.deepEqual([notCaptured[0].path, notCaptured[0].reason], [file("a.txt"), "too-large"]);
	await session.snapshot({ kind: "operation", maxPoints: 2 });
	assert.equal((await session.snapshot({ kind: "operation", maxPoints: 2 })).dropped, 1);
	assert.equal((await session.points()).length, 2);
});

async function editedSession(t) {
	const scene = await opened(t);
	const { session, file } = scene;
	writeFileSync(file("edit.txt"), "one\ntwo\nthree\n");
	writeFileSync(file("same.txt"), "same\n");
	writeFileSync(file("gone.txt"), "gone\n");
	writeFileSync(file("binary.bin"), Buffer.from([0, 1, 2]));
	for (const name of ["edit.txt", "same.txt", "gone.txt", "binary.bin", "new.txt"]) await session.track(file(name));
	const { point } = await session.snapshot({ kind: "operation", entryId: "message-1", maxPoints: 0 });
	writeFileSync(file("edit.txt"), "one\n2\nthree\nfour\n");
	writeFileSync(file("new.txt"), "new\n");
	writeFileSync(file("binary.bin"), Buffer.from([0, 1, 2, 3]));
	rmSync(file("gone.txt"));
	for (const name of ["edit.txt", "gone.txt", "binary.bin", "new.txt"]) await session.toolDone(file(name), false);
	return { ...scene, point };
}

test("a survey counts what plans count, from one look at the files", async (t) => {
	const { session, point } = await editedSession(t);
	const survey = await session.survey();
	const rows = await session.surveyRows(survey, { entryIds: ["message-1", "message-2"], branch: ["message-1", "message-2"] });
	for (const row of rows) {
		shape(row, {
			"pointId?": "string",
			fallback: "boolean",
			changed: "number",
			added: "number",
			removed: "number",
			approximate: "boolean",
			changedByHand: "number",
			linksSkipped: "number",
			otherSkipped: "number",
		});
	}
	const plan = await session.plan({ pointId: point.id, lineCounts: true });
	const { changed, added, removed } = plan;
	assert.deepEqual(rows[0], {
		...{ pointId: point.id, fallback: false, changed, added, removed, approximate: false },
		...{ changedByHand: 0, linksSkipped: 0, otherSkipped: 0 },
	});
	assert.equal(rows[1].fallback, true);
	await session.survey();
	await rejects(session.surveyRows(survey, { entryIds: [], branch: [] }), "CANDY_NOT_FOUND");
});

test("what a shell removes and a tool writes anew comes back as it was", async (t) => {
	const { session, file } = await opened(t);
	writeFileSync(file("cfg.toml"), "the user's own\n");
	const { point } = await session.snapshot({ kind: "operation", maxPoints: 0 });
	assert.equal(await session.glimpse([file("cfg.toml"), file("none"), "relative"]), 1);
	rmSync(file("cfg.toml"));
	assert.equal((await session.track(file("cfg.toml"))).absent, false);
	writeFileSync(file("cfg.toml"), "new");
	await session.toolDone(file("cfg.toml"), false);
	const plan = await session.plan({ pointId: point.id, lineCounts: false });
	await session.apply(plan.planId, { maxPoints: 0 });
	assert.equal(readFileSync(file("cfg.toml"), "utf8"), "the user's own\n");
});

test("a plan tells what going back would do, and applying it does that", async (t) => {
	const { session, file, point } = await editedSession(t);
	const plan = await session.plan({ pointId: point.id, lineCounts: true });
	shape(plan, {
		planId: "number",
		"pointId?": "string",
		files: "array",
		changed: "number",
		added: "number",
		removed: "number",
		linksSkipped: "number",
		otherSkipped: "number",
		fallback: "boolean",
	});
	assert.deepEqual([plan.pointId, plan.fallback, plan.changed], [point.id, false, 4]);
	for (const one of plan.files) {
		shape(one, {
			path: "string",
			display: "string",
			action: "string",
			"reason?": "string",
			added: "number",
			removed: "number",
			binary: "boolean",
			approximate: "boolean",
			changedByHand: "boolean",
		});
		assert.equal(one.path, file(one.display));
		assert.equal(one.changedByHand, false);
	}
	const actions = Object.fromEntries(plan.files.map((one) => [one.display, one.action]));
	assert.equal(actions["edit.txt"], "modify");
	assert.equal(actions["binary.bin"], "modify");
	assert.equal(actions["gone.txt"], "create");
	assert.equal(actions["new.txt"], "delete");
	assert.equal(actions["same.txt"] ?? "unchanged", "unchanged");
	const edit = plan.files.find((one) => one.display === "edit.txt");
	assert.deepEqual([edit.added, edit.removed, edit.binary], [1, 2, false]);
	assert.equal(plan.files.find((one) => one.display === "binary.bin").binary, true);
	const total = (key) => plan.files.reduce((sum, one) => sum + one[key], 0);
	assert.deepEqual([plan.added, plan.removed], [total("added"), total("removed")]);

	const diff = await session.diff(plan.planId, file("edit.txt"));
	assert.match(diff, /^-2\n/m);
	assert.match(diff, /^\+two\n/m);
	assert.equal(await session.diff(plan.planId, file("binary.bin")), "");

	const outcome = await session.apply(plan.planId, { maxPoints: 0 });
	shape(outcome, OUTCOME);
	shape(outcome.redoPoint, POINT);
	assert.equal(outcome.redoPoint.kind, "redo-point");
	assert.deepEqual([outcome.restored, outcome.failed, outcome.kept], [4, [], []]);
	assert.equal(readFileSync(file("edit.txt"), "utf8"), "one\ntwo\nthree\n");
	assert.equal(readFileSync(file("gone.txt"), "utf8"), "gone\n");
	assert.equal(existsSync(file("new.txt")), false);

	const back = await session.plan({ pointId: outcome.redoPoint.id, lineCounts: false });
	assert.equal((await session.apply(back.planId, { maxPoints: 0 })).restored, 4);
	assert.equal(readFileSync(file("edit.txt"), "utf8"), "one\n2\nthree\nfour\n");
	assert.equal(readFileSync(file("new.txt"), "utf8"), "new\n");
	assert.equal(existsSync(file("gone.txt")), false);
});

test("a plan by message finds the bound point, then an older one, then the originals", async (t) => {
	const { session, point } = await editedSession(t);
	const plan = (entryId, branch) => session.plan({ entryId, branch, lineCounts: false });
	const exact = await plan("message-1", ["message-1", "message-2"]);
	assert.deepEqual([exact.pointId, exact.fallback], [point.id, false]);
	const older = await plan("message-2", ["message-1", "message-2"]);
	assert.deepEqual([older.pointId, older.fallback], [point.id, true]);
	const originals = await plan("message-0", ["message-0", "message-1"]);
	assert.deepEqual(["pointId" in originals, originals.fallback], [false, true]);
});

test("a change by hand is told and can be protected", async (t) => {
	const { session, file, point } = await editedSession(t);
	writeFileSync(file("edit.txt"), "by hand\n");
	const open = await session.plan({ pointId: point.id, lineCounts: false });
	assert.equal(open.files.find((one) => one.display === "edit.txt").changedByHand, true);
	const careful = await session.plan({ pointId: point.id, lineCounts: false, protectManualEdits: true });
	const edit = careful.files.find((one) => one.display === "edit.txt");
	assert.deepEqual([edit.action, edit.changedByHand], ["skip", true]);
	assert.equal(careful.otherSkipped, 1);
	const outcome = await session.apply(careful.planId, { maxPoints: 0 });
	assert.deepEqual([outcome.restored, outcome.skipped], [3, 1]);
	assert.equal(readFileSync(file("edit.txt"), "utf8"), "by hand\n");
});

test("a path outside the workspace is shown whole", async (t) => {
	const { session, root } = await opened(t);
	const outside = `${root}/outside.txt`;
	writeFileSync(outside, "one\n");
	await session.track(outside);
	const { point } = await session.snapshot({ kind: "operation", maxPoints: 0 });
	writeFileSync(outside, "two\n");
	const plan = await session.plan({ pointId: point.id, lineCounts: false });
	assert.deepEqual([plan.files[0].path, plan.files[0].display], [outside, outside]);
	assert.match(await session.diff(plan.planId, outside), /^\+one\n/m);
});

test("a path that a failed tool left alone is forgotten", async (t) => {
	const { session, file } = await opened(t);
	await session.track(file("never.txt"));
	assert.equal(await session.toolDone(file("never.txt"), true), undefined);
	assert.equal((await session.track(file("never.txt"))).status, "tracked");
});

test("the redo stack works as a stack with a cap", async (t) => {
	const { session } = await opened(t);
	assert.equal(await session.redoPeek(), null);
	const { point } = await session.snapshot({ kind: "redo-point", maxPoints: 0 });
	assert.equal(await session.redoPush({ type: "conversation", oldLeafId: "leaf-1", maxItems: 2 }), undefined);
	await session.redoPush({ type: "code", pointId: point.id, maxItems: 2 });
	await session.redoPush({ type: "both", pointId: point.id, oldLeafId: "leaf-2", maxItems: 2 });
	const top = await session.redoPeek();
	shape(top, { type: "string", "pointId?": "string", "oldLeafId?": "string", createdAt: "number" });
	assert.deepEqual([top.type, top.pointId, top.oldLeafId], ["both", point.id, "leaf-2"]);
	assert.equal(await session.redoPop(), undefined);
	const { type, pointId, oldLeafId } = await session.redoPeek();
	assert.deepEqual([type, pointId, oldLeafId], ["code", point.id, undefined]);
	await session.redoPop();
	assert.equal(await session.redoPeek(), null, "the first item fell to the cap");
	await session.redoPop();
	await session.redoPush({ type: "conversation", oldLeafId: "leaf-3", maxItems: 2 });
	assert.equal(await session.redoClear(), undefined);
	assert.equal(await session.redoPeek(), null);
});

test("a fork takes the points along and leaves the redo stack behind", async (t) => {
	const { store, session, cwd, root, file } = await opened(t);
	await session.track(file("a.txt"));
	await session.snapshot({ kind: "baseline", maxPoints: 0 });
	await session.redoPush({ type: "conversation", oldLeafId: "leaf", maxItems: 9 });
	assert.deepEqual(await store.fork("session-1", "session-2", cwd), { forked: true, points: 1 });
	assert.deepEqual(await store.fork("session-1", "session-2", cwd), { forked: false, points: 0 });
	assert.deepEqual(await store.fork("nobody", "session-3", cwd), { forked: false, points: 0 });
	assert.deepEqual(await store.fork("session-1", "session-3", root), { forked: false, points: 0 });
	const forked = await store.openSession(sessionOptions(cwd, { id: "session-2" }));
	assert.deepEqual(forked.info(), { id: "session-2", created: false, points: 1, trackedFiles: 1, unfinished: [] });
	assert.equal(await forked.redoPeek(), null);
});

test("expiry and collection report numbers", async (t) => {
	const { store, session, file } = await opened(t);
	assert.equal(await store.expireSessions(30), 0);
	assert.equal(await store.expireSessions(0), 0, "the newest twenty stay");
	const idle = await store.gc(false);
	const report = {
		ran: "boolean",
		droppedObjects: "number",
		freedBytes: "number",
		rewrittenSegments: "number",
		"heldBack?": "string",
	};
	shape(idle, report);
	assert.equal(idle.ran, false, "a new store is not due");
	writeFileSync(file("a.txt"), "one");
	await session.track(file("a.txt"));
	for (const text of ["two", "three", "four"]) {
		writeFileSync(file("a.txt"), text.repeat(100));
		await session.snapshot({ kind: "operation", maxPoints: 1 });
	}
	const forced = await store.gc(true);
	shape(forced, report);
	assert.equal(forced.ran, true);
	assert.ok(forced.droppedObjects > 0);
});

test("resuming a restore that is not unfinished changes nothing", async (t) => {
	const { session } = await opened(t);
	for (const how of ["finish", "rollback"]) {
		const outcome = await session.resumeRestore("0".repeat(32), how);
		shape(outcome, OUTCOME);
		assert.deepEqual([outcome.restored, outcome.failed], [0, []]);
	}
});
