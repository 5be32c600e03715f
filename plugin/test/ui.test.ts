/** What picker and menu draw, on terminals of many sizes, with pi's own measure of widths. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { titleText } from "../src/choose.ts";
import { filePiece, menuActions, menuTitle } from "../src/menu.ts";
import type { PlanFile } from "../src/store.ts";
import { Texts } from "../src/text/index.ts";
import {
	atEverySize,
	factsOf,
	file,
	LANGUAGES,
	menuSpec,
	NASTY,
	open,
	pi,
	pickerSpec,
	planOf,
	skip,
} from "./ui-stub.ts";

const MESSAGES = [
	"short",
	"很长的中文提示".repeat(9).slice(0, 30),
	"🍬👨‍👩‍👧".repeat(15),
	"\x1b[2Jescape",
	"x".repeat(60),
];

test("rows fit every terminal and give up message text before counts", { skip }, () => {
	for (const language of LANGUAGES) {
		const texts = new Texts(language);
		const picker = open(
			pickerSpec(
				texts,
				Array.from({ length: 100 }, (_, at) => MESSAGES[at % 5] ?? ""),
			),
		);
		atEverySize(picker, (lines) => {
			const rows = lines.filter((line) => /^[→ ] \d+\. /.test(line));
			assert.ok(rows.length >= 3 && rows.length <= 12);
			for (const row of rows) assert.match(row, / · 12 files · \+1,204 -310$/);
			assert.ok(lines.some((line) => line.includes("100") && line.includes("1")));
		});
		picker.press("s", "h", "中");
		atEverySize(picker, (lines) => assert.ok(lines.some((line) => line.includes("sh中"))));
		picker.press("很长的过滤文字".repeat(40), "尾");
		atEverySize(picker, (lines) => assert.ok(lines.some((line) => line.includes("字尾"))));
	}
});

test("the help of every dialog is whole at 60 columns", { skip }, () => {
	for (const language of LANGUAGES) {
		const texts = new Texts(language);
		const position = texts.t("diff.position", { file: 12, total: 15 });
		const helps = [texts.t("picker.help"), texts.t("picker.menuHelp"), texts.t("menu.help")];
		for (const help of [...helps, `${position} · ${texts.t("diff.help")}`]) {
			assert.ok((pi?.visibleWidth(` ${help}`) ?? 0) <= 60, help);
		}
	}
});

test("the menu shows what happens to files, hand-made changes first, and all choices", { skip }, () => {
	for (const language of LANGUAGES) {
		const texts = new Texts(language);
		const many = [...NASTY, ...Array.from({ length: 200 }, (_, at) => file(`many/${at}.txt`))];
		for (const plan of [planOf(NASTY), planOf(many), planOf([file("one.txt")])]) {
			const menu = open(menuSpec(texts, plan));
			const count = texts.t("menu.files", { count: plan.changed });
			atEverySize(menu, (lines, width, height) => {
				assert.ok(
					lines.some((line) => line.includes(count)),
					`${width}x${height}`,
				);
				const choices = menuActions(plan).filter((action) =>
					lines.some((line) => line.endsWith(texts.t(`menu.${action}`))),
				);
				assert.equal(choices.length, height >= 16 ? 6 : Math.min(6, Math.max(3, choices.length)), `${width}x${height}`);
				if (plan.files.length > 1)
					assert.ok(
						lines.some((line) => line.includes("gone.rs")),
						`${width}x${height}`,
					);
			});
		}
	}
});

test("the menu names every kind of change, and a client without a terminal gets the same words", () => {
	const texts = new Texts("en");
	const said = (one: PlanFile): string => {
		const { text, suffix } = filePiece(texts, one);
		return text + suffix;
	};
	assert.deepEqual([...NASTY.slice(0, 2), ...NASTY.slice(6, 10)].map(said), [
		"src/plain.ts (+12 -3)",
		"made.rs (deleted, -3)",
		"pic.png (binary)",
		"run.sh (mode only)",
		"link (left alone: symbolic link)",
		"mine.txt (left alone: changed by hand)",
	]);
	const title = titleText(menuTitle(texts, factsOf(planOf(NASTY))));
	assert.match(title, /9 files would change:/);
	assert.match(title, /\n {2}gone\.rs \(created again, \+12\) — changed by hand since the agent's last edit\n/);
	assert.match(title, /\n {2}esc\^\[\[31m\^Jnew +line<U\+202E>\.txt \(~ \+12 -3\)\n/);
	assert.match(title, /\n {2}and 3 more\n/);
});

test("a message keeps the selection while its counts come in, and filtering keeps to it", { skip }, () => {
	const texts = new Texts("en");
	const picker = open(
		pickerSpec(
			texts,
			Array.from({ length: 30 }, (_, at) => `message ${at}`),
			" · …",
		),
	);
	const selected = (): string | undefined => picker.lines().find((line) => line.startsWith("→ "));
	picker.press("pageDown", "down", "message 1");
	assert.match(selected() ?? "", /message 13 · …/);
	for (let at = 0; at < 30; at++) picker.setLabel(at, `${at + 1}. message ${at} · ${at} files`);
	assert.match(selected() ?? "", /message 13 · 13 files/);
	picker.press("\x15");
	assert.match(selected() ?? "", /message 13/);
	picker.press("\x1b[D");
	picker.wheel(3);
	picker.wheel(3);
	picker.wheel(-3);
	assert.match(selected() ?? "", /message 2 /);
	const line = picker.lines().findIndex((text) => text.includes("message 5 "));
	picker.click(line);
	assert.deepEqual(picker.chosen, [5]);
});

test("Enter twice in a row writes nothing: the menu wants to have been seen", { skip }, () => {
	const texts = new Texts("en");
	const menu = open(menuSpec(texts, planOf([file("a.txt")])));
	menu.press("confirm");
	menu.lines();
	menu.clock.now = 100;
	menu.press("confirm");
	assert.deepEqual(menu.chosen, []);
	assert.ok(menu.lines().some((line) => line.includes(texts.t("menu.tooSoon"))));
	menu.clock.now = 300;
	menu.press("confirm");
	assert.deepEqual(menu.chosen, []);
	menu.clock.now = 600;
	menu.press("down", "confirm");
	assert.deepEqual(menu.chosen, [1]);
	menu.press("x", "2", "cancel");
	assert.deepEqual(menu.chosen, [1, undefined]);
	assert.ok(!menu.lines().some((line) => line.includes(texts.t("menu.tooSoon"))));
});
