/** Every text a user can see, in the user's language. A new language is one more file with the same keys. */
import { visibleLines } from "../ui/visible-text.ts";
import { en } from "./en.ts";
import { zh } from "./zh.ts";

/** A text whose words depend on `{count}`. Languages without plural forms use a plain string instead. */
export interface Plural {
	one?: string;
	few?: string;
	many?: string;
	other: string;
}

export type Entry = string | Plural;
export type TextKey = keyof typeof en;
export type Language = "zh" | "en";
export type Values = Readonly<Record<string, string | number>>;

export const LANGUAGES: Readonly<Record<Language, Readonly<Record<TextKey, Entry>>>> = { zh, en };

/** The language of a setting; `auto` follows the system, as far as there is a language for it. */
export function chosenLanguage(setting: Language | "auto", systemLocale: string): Language {
	if (setting !== "auto") return setting;
	return systemLocale.toLowerCase().startsWith("zh") ? "zh" : "en";
}

const LOCALES: Readonly<Record<Language, string>> = { zh: "zh-CN", en: "en" };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Older moments are shown as a date. */
const RELATIVE_DAYS_MAX = 30;

export class Texts {
	readonly language: Language;
	readonly #locale: string;
	readonly #plural: Intl.PluralRules;
	readonly #number: Intl.NumberFormat;

	constructor(language: Language) {
		this.language = language;
		this.#locale = LOCALES[language];
		this.#plural = new Intl.PluralRules(this.#locale);
		this.#number = new Intl.NumberFormat(this.#locale);
	}

	/** The text of a key with its `{placeholders}` filled in; `count` also picks the plural form. */
	t(key: TextKey, values: Values = {}): string {
		const entry: Entry = LANGUAGES[this.language][key];
		return this.#form(entry, values).replace(/\{(\w+)\}/g, (whole, name: string) => {
			const value = Object.hasOwn(values, name) ? values[name] : undefined;
			if (value === undefined) return whole;
			// File names, prompts and messages of the system may hold anything; pi prints what it is told.
			return typeof value === "number" ? this.#number.format(value) : visibleLines(value);
		});
	}

	/** Whether a key exists: for texts looked up by an error code or a reason. */
	has(key: string): key is TextKey {
		return Object.hasOwn(LANGUAGES[this.language], key);
	}

	list(items: readonly string[]): string {
		return items.join(this.t("list.separator"));
	}

	/** "5 minutes ago"; the local date for anything older than a month. */
	ago(time: number, now: number): string {
		const age = Math.max(0, now - time);
		if (age > RELATIVE_DAYS_MAX * DAY_MS) {
			return new Intl.DateTimeFormat(this.#locale, { dateStyle: "medium", timeStyle: "short" }).format(time);
		}
		const relative = new Intl.RelativeTimeFormat(this.#locale, { numeric: "always" });
		if (age < MINUTE_MS) return this.t("time.justNow");
		if (age < HOUR_MS) return relative.format(-Math.floor(age / MINUTE_MS), "minute");
		if (age < DAY_MS) return relative.format(-Math.floor(age / HOUR_MS), "hour");
		return relative.format(-Math.floor(age / DAY_MS), "day");
	}

	#form(entry: Entry, values: Values): string {
		if (typeof entry === "string") return entry;
		const count = values["count"];
		const category = typeof count === "number" ? this.#plural.select(count) : "other";
		return (
			(category === "one" || category === "few" || category === "many" ? entry[category] : undefined) ?? entry.other
		);
	}
}
