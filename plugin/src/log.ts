/** The debug log (`log: true`): one line an event, beside the store. It must never disturb anything. */
import { appendFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";

export interface Log {
	write(event: string, fields?: Readonly<Record<string, unknown>>): void;
	flush(): Promise<void>;
}

export const NO_LOG: Log = { write() {}, async flush() {} };

export function openLog(path: string, now: () => number): Log {
	let tail: Promise<void> = mkdir(dirname(path), { recursive: true, mode: 0o700 }).then(
		() => {},
		() => {},
	);
	return {
		write(event, fields = {}) {
			const line = `${JSON.stringify({ at: new Date(now()).toISOString(), event, ...fields })}\n`;
			tail = tail.then(() => appendFile(path, line, { mode: 0o600 })).catch(() => {});
		},
		flush: () => tail,
	};
}
