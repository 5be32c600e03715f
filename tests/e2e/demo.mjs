/**
 * The main job, visibly: the real pi edits files for a scripted local model, /undo and /redo take the edits back and
 * forth, and the command line shows what the store holds.
 *
 *   CANDY_STORE_BIN=target/release/candy-store node demo.mjs
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { BOTH, candySandbox, PiRpc } from "./support.mjs";

const binary = process.env.CANDY_STORE_BIN;
if (binary === undefined) {
	console.error("set CANDY_STORE_BIN to the candy-store program");
	process.exit(2);
}

const heading = (text) => console.log(`\n== ${text}`);
const sandbox = await candySandbox(undefined, { files: { "greet.py": 'print("hello")\n' } });
let failures = 0;

function showFiles() {
	for (const name of ["greet.py", "names.txt", "说明.md"]) {
		const path = join(sandbox.cwd, name);
		const content = existsSync(path) ? JSON.stringify(readFileSync(path, "utf8")) : "(not there)";
		console.log(`   ${name.padEnd(10)} ${content}`);
	}
}

function expect(what, actual, wanted) {
	const ok = actual === wanted;
	if (!ok) failures++;
	console.log(`   ${ok ? "ok  " : "FAIL"} ${what}`);
}

function candyStore(...args) {
	console.log(`\n$ candy-store ${args.join(" ")}`);
	const argv = ["--store", sandbox.store, ...args];
	const { status, stdout, stderr } = spawnSync(resolve(binary), argv, { encoding: "utf8", cwd: sandbox.cwd });
	console.log(`${stderr ?? ""}${stdout ?? ""}`.trimEnd());
	if (status !== 0) {
		failures++;
		console.log(`FAIL exit code ${status}`);
	}
}

async function command(pi, text, answers = []) {
	console.log(`> ${text}${answers.map((answer) => ` [${answer.select}]`).join("")}`);
	for (const { message } of await pi.command(text, answers)) console.log(message.replace(/^/gm, "   "));
}

try {
	heading("A project, and two prompts");
	const pi = await PiRpc.start(sandbox);
	for (const prompt of [
		'EDIT greet.py "hello" "hello, world"',
		'WRITE names.txt "Ada\\nGrace\\n"\nWRITE 说明.md "用法：python greet.py\\n"\nEDIT greet.py world names',
	]) {
		console.log(`> ${prompt.replaceAll("\n", " | ")}`);
		await pi.prompt(prompt);
	}
	showFiles();

	heading("Back to before the second prompt");
	await command(pi, "/undo", [{ select: /^1\./ }, BOTH]);
	showFiles();
	expect("the new files are gone", existsSync(join(sandbox.cwd, "names.txt")), false);
	expect("greet.py is as the first prompt left it", sandbox.read("greet.py"), 'print("hello, world")\n');

	heading("And forward again");
	await command(pi, "/redo");
	showFiles();
	expect("greet.py is as the second prompt left it", sandbox.read("greet.py"), 'print("hello, names")\n');
	expect("the Chinese file is back", sandbox.read("说明.md"), "用法：python greet.py\n");

	heading("Killed and resumed: the history is still there");
	await pi.prompt("WRITE greet.py broken\nHANG", { wait: false });
	await pi.waitFor(
		(record) => record.type === "message_update" && record.assistantMessageEvent.delta?.includes("hanging"),
	);
	await pi.crash();
	console.log(`   kill -9; greet.py holds ${JSON.stringify(sandbox.read("greet.py"))}`);
	const resumed = await PiRpc.start(sandbox, { args: ["--continue"] });
	await command(resumed, "/undo", [{ select: /broken/ }, BOTH]);
	showFiles();
	expect("greet.py survived the crash", sandbox.read("greet.py"), 'print("hello, names")\n');
	const { sessionId } = await resumed.state();
	await resumed.close();

	heading("What the store holds");
	candyStore("log");
	candyStore("log", sessionId);
	candyStore("diff", `${sessionId}:1`, "--worktree");
	candyStore("fsck");

	heading(failures === 0 ? "Everything as it should be" : `${failures} checks failed`);
} finally {
	await sandbox.dispose();
}
process.exitCode = failures === 0 ? 0 : 1;
