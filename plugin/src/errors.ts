/** A failure of the store, with a stable code and the next step. Everything the addon rejects with becomes one. */
export class CandyError extends Error {
	readonly code: string;
	readonly hint: string | undefined;
	readonly path: string | undefined;

	constructor(message: string, fields: { code: string; hint?: string; path?: string; cause?: unknown }) {
		super(message, { cause: fields.cause });
		this.name = "CandyError";
		this.code = fields.code;
		this.hint = fields.hint;
		this.path = fields.path;
	}
}

function textField(value: object, key: string): string | undefined {
	const field: unknown = Reflect.get(value, key);
	return typeof field === "string" && field !== "" ? field : undefined;
}

/** Lifts whatever was thrown into a `CandyError`; one that already is passes through. */
export function toCandyError(thrown: unknown): CandyError {
	if (thrown instanceof CandyError) return thrown;
	if (typeof thrown !== "object" || thrown === null) return new CandyError(String(thrown), { code: "CANDY_INTERNAL" });
	const hint = textField(thrown, "hint");
	const path = textField(thrown, "path");
	return new CandyError(textField(thrown, "message") ?? "unknown failure", {
		code: textField(thrown, "code") ?? "CANDY_INTERNAL",
		...(hint === undefined ? {} : { hint }),
		...(path === undefined ? {} : { path }),
		cause: thrown,
	});
}
