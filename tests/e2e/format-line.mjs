/** Rewrites the `format` line of a store, check included, to play a program from the future. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const IV = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const MIXES = [
	[0, 4, 8, 12],
	[1, 5, 9, 13],
	[2, 6, 10, 14],
	[3, 7, 11, 15],
	[0, 5, 10, 15],
	[1, 6, 11, 12],
	[2, 7, 8, 13],
	[3, 4, 9, 14],
];
const CHUNK_START = 1;
const CHUNK_END = 2;
const ROOT = 8;
const BLOCK_BYTES = 64;

const rotate = (word, bits) => ((word >>> bits) | (word << (32 - bits))) >>> 0;

function compress(chaining, block, length, flags) {
	const v = [...chaining, ...IV.slice(0, 4), 0, 0, length, flags];
	let words = block;
	for (let round = 0; round < 7; round++) {
		for (const [index, [a, b, c, d]] of MIXES.entries()) {
			for (const [word, bits] of [
				[words[2 * index], [16, 12]],
				[words[2 * index + 1], [8, 7]],
			]) {
				v[a] = (v[a] + v[b] + word) >>> 0;
				v[d] = rotate(v[d] ^ v[a], bits[0]);
				v[c] = (v[c] + v[d]) >>> 0;
				v[b] = rotate(v[b] ^ v[c], bits[1]);
			}
		}
		words = PERMUTATION.map((from) => words[from]);
	}
	return v.slice(0, 8).map((word, index) => (word ^ v[index + 8]) >>> 0);
}

/** First four bytes of the BLAKE3 hash of a short text (one chunk), in hex. */
export function blake3Prefix(text) {
	const bytes = Buffer.from(text);
	if (bytes.length > 1024) throw new Error("longer than one chunk");
	let chaining = IV;
	const blocks = Math.max(1, Math.ceil(bytes.length / BLOCK_BYTES));
	for (let index = 0; index < blocks; index++) {
		const part = bytes.subarray(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES);
		const padded = Buffer.alloc(BLOCK_BYTES);
		part.copy(padded);
		const words = Array.from({ length: 16 }, (_, at) => padded.readUInt32LE(at * 4));
		const flags = (index === 0 ? CHUNK_START : 0) | (index === blocks - 1 ? CHUNK_END | ROOT : 0);
		chaining = compress(chaining, words, part.length, flags);
	}
	const prefix = Buffer.alloc(4);
	prefix.writeUInt32LE(chaining[0]);
	return prefix.toString("hex");
}

/** Replaces words of the line, for instance `{ format: 99 }`, and signs it anew. */
export function rewriteFormat(store, changes) {
	const file = join(store, "format");
	const line = readFileSync(file, "utf8").trimEnd();
	const [old, check] = line.split(" check ");
	if (blake3Prefix(old) !== check) throw new Error(`unexpected format line: ${line}`);
	const text = Object.entries(changes)
		.reduce((changed, [word, value]) => changed.replace(new RegExp(`( ${word} )\\S+`), `$1${value}`), ` ${old}`)
		.slice(1);
	writeFileSync(file, `${text} check ${blake3Prefix(text)}\n`);
}
