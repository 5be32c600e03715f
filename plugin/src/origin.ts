/** Reads session files: which session a fork came from, and whether an entry is there. */
import { open } from "node:fs/promises";
import { basename } from "node:path";

export interface SessionOrigin {
	id: string;
	/** Undefined when only the file's name is left of the session. */
	cwd: string | undefined;
}

/** A header is one short line; a first line longer than this is not one. */
const HEADER_BYTES_MAX = 64 * 1024;

function parseHeader(line: string): SessionOrigin | undefined {
	try {
		const header: unknown = JSON.parse(line);
		if (typeof header !== "object" || header === null || Reflect.get(header, "type") !== "session") return undefined;
		const id: unknown = Reflect.get(header, "id");
		const cwd: unknown = Reflect.get(header, "cwd");
		return typeof id === "string" && id !== "" ? { id, cwd: typeof cwd === "string" ? cwd : undefined } : undefined;
	} catch {
		return undefined;
	}
}

/** pi names session files `<time>_<session id>.jsonl`. */
function idFromName(file: string): SessionOrigin | undefined {
	const id = /_([0-9a-zA-Z-]+)\.jsonl$/.exec(basename(file))?.[1];
	return id === undefined ? undefined : { id, cwd: undefined };
}

async function firstLine(file: string): Promise<string> {
	const handle = await open(file, "r");
	try {
		const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES_MAX), 0, HEADER_BYTES_MAX, 0);
		const end = buffer.subarray(0, bytesRead).indexOf(0x0a);
		return buffer.toString("utf8", 0, end === -1 ? bytesRead : end);
	} finally {
		await handle.close();
	}
}

/** Id and working directory of the session in a file; the name serves when the file is gone. */
export async function readOrigin(file: string): Promise<SessionOrigin | undefined> {
	try {
		return parseHeader(await firstLine(file)) ?? idFromName(file);
	} catch {
		return idFromName(file);
	}
}

/** Whether a session file holds an entry of that id. */
export async function mentionsEntry(file: string, entryId: string): Promise<boolean> {
	try {
		const handle = await open(file, "r");
		try {
			for await (const line of handle.readLines()) {
				if (line.includes(entryId) && entryIdOf(line) === entryId) return true;
			}
			return false;
		} finally {
			await handle.close().catch(() => {});
		}
	} catch {
		return false;
	}
}

function entryIdOf(line: string): unknown {
	try {
		const entry: unknown = JSON.parse(line);
		return typeof entry === "object" && entry !== null ? Reflect.get(entry, "id") : undefined;
	} catch {
		return undefined;
	}
}
