/**
 * Captures the real picker from a terminal into docs/picker.svg, for the README.
 *
 *   node picker-svg.mjs [output file]
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ansiToSvg } from "./ansi-svg.mjs";
import { PiTui } from "./harness/tmux-driver.mjs";
import { candySandbox, PiRpc } from "./support.mjs";

const COLS = 108;
const output = process.argv[2] ?? fileURLToPath(new URL("../../docs/picker.svg", import.meta.url));

/** Long enough that the row shows the sentence alone, without the script line below it. */
const TURNS = [
	[
		"Build a small command line program that counts the words of a text file",
		'WRITE src/main.rs "fn main() {\\n    println!(\\"{}\\", count());\\n}\\n"',
	],
	[
		"Read the file name from the arguments and print a clear error without one",
		'WRITE src/args.rs "pub fn file() -> String {\\n    std::env::args().nth(1).expect(\\"a file\\")\\n}\\n"',
	],
	["Run the tests once and tell me which of them fail on this machine, please", "BASH true"],
	[
		"Count letters and lines as well, and put the three numbers into one table",
		'WRITE src/main.rs "mod args;\\nfn main() {\\n    let file = args::file();\\n    println!(\\"{}\\", table(&file));\\n}\\n"',
	],
	[
		"Explain how the table is laid out, and why the widths are computed first",
		"SAY It measures every cell before it prints.",
	],
	[
		"Write a README with an example, and remove the notes that nobody reads now",
		'PAR WRITE README.md "# count\\n\\n    count file.txt\\n" || WRITE notes.md ""',
	],
];

const sandbox = await candySandbox(undefined, { files: { "notes.md": "old\nnotes\n" } });
try {
	const pi = await PiRpc.start(sandbox);
	for (const [text, script] of TURNS) await pi.prompt(`${text}\n${script}`);
	await pi.close();
	const tui = await PiTui.start(sandbox, { args: ["--continue"], cols: COLS, rows: 40 });
	await tui.submit("/undo");
	await tui.waitFor((screen) => /→ 1\./.test(screen) && !/ · …\n/.test(screen), { what: "all counts" });
	await tui.keys("Down", "Down");
	await tui.waitFor(/→ 3\./);
	const screen = (await tui.screen({ ansi: true })).split("\n");
	const plain = (await tui.screen()).split("\n");
	// From the picker's upper border to the lower one.
	const borders = plain.flatMap((line, index) => (/^─{40,}/.test(line) ? [index] : []));
	const picker = screen.slice(borders.at(0), borders.at(-1) + 1).join("\n");
	writeFileSync(output, ansiToSvg(picker, { columns: COLS, title: "The /undo picker" }));
	console.log(`wrote ${output}`);
	await tui.keys("Escape");
	await tui.quit();
} finally {
	await sandbox.dispose();
}
