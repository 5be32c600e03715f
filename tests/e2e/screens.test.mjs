/** The dialogs of `/undo` as the user sees them, compared with the texts in `golden/`. See there for rewriting them. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PiTui, tmuxAvailable } from "./harness/tmux-driver.mjs";
import { candySandbox, PiRpc, testOnEachPi } from "./support.mjs";

const skip = (await tmuxAvailable()) ? false : "tmux is not installed";
const timeout = 120_000;
const golden = fileURLToPath(new URL("golden/", import.meta.url));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const APP = Array.from({ length: 40 }, (_, at) => `export const value${at} = compute(${at}, "text ${at}");\n`).join("");

/** One prompt: what a person wrote, then the script of the model. */
const TURNS = {
	en: [
		"Explain how the program is built, and which of its parts are the oldest of all",
		"Count letters and lines as well 🍬, and write down how that is meant to be used",
		"Run the tests once and tell me which of them fail on this machine, please",
		"Make a start on the second part",
	],
	zh: [
		"请说明这个程序是如何构建的，其中哪些部分是最早写成的，哪些部分后来又改过",
		"同时统计字母数和行数 🍬，并写下它应该怎样使用，最好再附上几个简单的例子",
		"运行一次测试，告诉我在这台机器上有哪些测试失败了，并说明可能是什么原因",
		"开始写第二部分",
	],
};
const SCRIPTS = [
	"SAY It is built in two steps.",
	[
		'MULTI EDIT src/app.ts "compute(20, " "measure(20,\\t"',
		'WRITE src/made.rs "fn main() {\\n    println!(\\"made\\");\\n}\\n"',
		'WRITE notes.md "# Notes\\n\\nby the agent\\n"',
		'WRITE windows.txt "one\\r\\ntwo\\r\\n"',
		"WRITE picture.bin text",
		'WRITE odd.txt "\\u001b[31mred\\u001b]0;title\\u0007 \\u202e end\\n"',
		'WRITE docs/a/rather/long/way/down/to/one/more/folder/of/the/project/使用说明.md "用法：count 文件\\n"',
	].join(" ;; "),
	"BASH true",
	"PAR WRITE part2.txt two || WRITE src/part2.rs two",
];

async function history(t, pi, language) {
	const sandbox = await candySandbox(t, {
		pi,
		candyUndo: { language },
		files: {
			"src/app.ts": APP,
			"notes.md": "# Notes\n",
			"windows.txt": "one\ntwo\n",
			"picture.bin": "\0\x01",
			"odd.txt": "plain\n",
		},
	});
	const rpc = await PiRpc.start(sandbox);
	for (const [at, text] of TURNS[language].entries()) await rpc.prompt(`${text}\n${SCRIPTS[at]}`);
	await rpc.close();
	sandbox.write("notes.md", "# Notes\n\nby the agent\nand by me\n");
	return sandbox;
}

/** The screen once it stays as it is. */
async function settled(tui, pattern) {
	let screen = await tui.waitFor(pattern);
	for (;;) {
		await pause(150);
		const next = await tui.screen();
		if (next === screen && !/ · …|Loading…|加载中/.test(next)) return next;
		screen = next;
	}
}

const RELATIVE_TIME = /^( │ [(（])(just now|刚刚|\d+ (second|minute)s? ago|\d+(秒|分)钟前)([)）])$/gm;

const BORDER = /^─{40,}$/;

/** The dialog without pi around it: from its border, or `from` on a screen too low for borders, to its help. */
function dialogOf(screen, from) {
	const lines = screen.split("\n");
	const first = lines.findIndex((line) => from.test(line));
	const help = lines.findLastIndex((line) => / Esc /.test(line));
	const last = BORDER.test(lines[help + 1]) ? help + 1 : help;
	return `${lines.slice(first, last + 1).join("\n").replace(RELATIVE_TIME, "$1<time>$5")}\n`;
}

function compare(screen, name, from = BORDER) {
	const file = join(golden, `${name}.txt`);
	const dialog = dialogOf(screen, from);
	if (process.env.UPDATE_GOLDEN) {
		mkdirSync(golden, { recursive: true });
		writeFileSync(file, dialog);
	}
	assert.equal(dialog, readFileSync(file, "utf8"), `${name} (see golden/README.md)`);
}

for (const language of ["en", "zh"]) {
	testOnEachPi(`picker, menu and diff view look as they did (${language})`, { timeout, skip }, async (t, pi) => {
		const sandbox = await history(t, pi, language);
		const tui = await PiTui.start(sandbox, { args: ["--continue"], cols: 80, rows: 24 });
		await tui.submit("/undo");
		compare(await settled(tui, /→ 1\. .* · /), `picker-${language}`);
		await tui.keys("Down", "Down", "Enter");
		compare(await settled(tui, /→ .*(Restore|恢复)/), `menu-${language}`);
		await tui.keys("Down", "d");
		compare(await settled(tui, /@@ -1,4 \+1 @@/), `diff-${language}`);
		await tui.keys("n", "n", "n", "n");
		compare(await settled(tui, /─\n picture\.bin/), `diff-app-${language}`);
		await tui.keys("End");
		compare(await settled(tui, /windows\.txt.*\n.*CRLF/), `diff-end-${language}`);
		await tui.keys("Escape");
		await tui.waitFor(/→ (Restore conversation|恢复对话)$/m);
		await tui.resize(60, 10);
		await tui.waitFor(/^─{40,}$/m, { absent: true });
		compare(await settled(tui, /→ .*(conversation|对话)/), `menu-low-${language}`, /would change|将改动/);
		await tui.keys("Escape");
		await tui.resize(80, 24);
		assert.equal(await tui.quit(), true);
		assert.equal(sandbox.read("notes.md"), "# Notes\n\nby the agent\nand by me\n");
		assert.equal(sandbox.exists("src/made.rs"), true);
	});
}
