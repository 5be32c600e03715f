/** Turns a captured terminal screen (text with SGR sequences) into an SVG picture. */

const CELL_WIDTH = 8.4;
const CELL_HEIGHT = 18;
const FONT_SIZE = 14;
const MARGIN = 12;
const BACKGROUND = "#16181d";
const FOREGROUND = "#d6d9df";

const BASE_COLORS = [
	"#3b4048",
	"#e06c75",
	"#98c379",
	"#e5c07b",
	"#61afef",
	"#c678dd",
	"#56b6c2",
	"#d6d9df",
	"#5c6370",
	"#f28b93",
	"#b5e08f",
	"#f2d59a",
	"#82c4ff",
	"#dd9cf0",
	"#7fd3dd",
	"#ffffff",
];

const WIDE =
	/\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

const hex = (...rgb) => `#${rgb.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;

/** One of the 256 indexed colours. */
function indexed(index) {
	if (index < 16) return BASE_COLORS[index];
	if (index >= 232) return hex(...Array(3).fill(8 + (index - 232) * 10));
	const level = (step) => (step === 0 ? 0 : 55 + step * 40);
	const cube = index - 16;
	return hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

const PLAIN = { color: undefined, background: undefined, bold: false, dim: false, italic: false, inverse: false };

/** Applies the parameters of one `CSI … m`. */
function applySgr(style, parameters) {
	const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
	let next = { ...style };
	while (codes.length > 0) {
		const code = codes.shift();
		if (code === 0) next = { ...PLAIN };
		else if (code === 1) next.bold = true;
		else if (code === 2) next.dim = true;
		else if (code === 3) next.italic = true;
		else if (code === 7) next.inverse = true;
		else if (code === 22) Object.assign(next, { bold: false, dim: false });
		else if (code === 23) next.italic = false;
		else if (code === 27) next.inverse = false;
		else if (code === 39) next.color = undefined;
		else if (code === 49) next.background = undefined;
		else if (code === 38 || code === 48) {
			const value = codes.shift() === 5 ? indexed(codes.shift()) : hex(...codes.splice(0, 3));
			next[code === 38 ? "color" : "background"] = value;
		} else if (code >= 30 && code <= 37) next.color = BASE_COLORS[code - 30];
		else if (code >= 40 && code <= 47) next.background = BASE_COLORS[code - 40];
		else if (code >= 90 && code <= 97) next.color = BASE_COLORS[code - 82];
		else if (code >= 100 && code <= 107) next.background = BASE_COLORS[code - 92];
	}
	return next;
}

const columns = (text) =>
	[...new Intl.Segmenter().segment(text)].reduce((sum, { segment }) => sum + (WIDE.test(segment) ? 2 : 1), 0);

/** Runs of text in one style, with the column where each begins. The style carries over from line to line. */
function runsOf(line, state) {
	const runs = [];
	let column = 0;
	// Splitting at a capture group keeps the sequences between the texts.
	for (const [index, part] of line.split(/\x1b\[([\d;:]*)m/).entries()) {
		if (index % 2 === 1) {
			state.style = applySgr(state.style, part);
			continue;
		}
		const text = part.replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "");
		if (text === "") continue;
		const width = columns(text);
		runs.push({ text, column, width, style: state.style });
		column += width;
	}
	return runs;
}

const escapeXml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function drawRun({ text, column, width, style }, top) {
	const x = MARGIN + column * CELL_WIDTH;
	let color = style.color ?? FOREGROUND;
	let { background } = style;
	if (style.inverse) [color, background] = [background ?? BACKGROUND, color];
	const shapes = [];
	if (background !== undefined) {
		shapes.push(
			`<rect x="${x.toFixed(1)}" y="${top}" width="${(width * CELL_WIDTH).toFixed(1)}" height="${CELL_HEIGHT}" fill="${background}"/>`,
		);
	}
	// Blanks at the ends take room but are not drawn: some viewers drop them and would stretch the rest.
	const word = text.trim();
	if (word !== "") {
		const indent = columns(text.slice(0, text.indexOf(word)));
		const attributes = [
			`x="${(x + indent * CELL_WIDTH).toFixed(1)}"`,
			`y="${top + FONT_SIZE - 1}"`,
			`textLength="${(columns(word) * CELL_WIDTH).toFixed(1)}"`,
			`fill="${color}"`,
			...(style.bold ? ['font-weight="bold"'] : []),
			...(style.italic ? ['font-style="italic"'] : []),
			...(style.dim ? ['opacity="0.65"'] : []),
		];
		shapes.push(`<text ${attributes.join(" ")}>${escapeXml(word)}</text>`);
	}
	return shapes;
}

/** @param {string} screen  lines of a terminal, with colours; `columns` is its width */
export function ansiToSvg(screen, { columns: cols, title }) {
	const lines = screen.replace(/\n+$/, "").split("\n");
	const width = Math.ceil(cols * CELL_WIDTH + 2 * MARGIN);
	const height = lines.length * CELL_HEIGHT + 2 * MARGIN;
	const state = { style: { ...PLAIN } };
	const shapes = lines.flatMap((line, index) =>
		runsOf(line, state).flatMap((run) => drawRun(run, MARGIN + index * CELL_HEIGHT)),
	);
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
		`<title>${escapeXml(title)}</title>`,
		`<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
		`<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${FONT_SIZE}" xml:space="preserve">`,
		...shapes,
		"</g>",
		"</svg>",
		"",
	].join("\n");
}
