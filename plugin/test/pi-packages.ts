/**
 * Lets tests import what draws in pi's terminal: pi's packages are peers, and the end-to-end tests install them.
 *
 * Import this first, then the drawing code with `await import`.
 */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";

const home = new URL("../../tests/e2e/package.json", import.meta.url);

/** False where nothing is installed: then tests that draw are left out. */
export const installed = existsSync(new URL("node_modules/@earendil-works/pi-tui/package.json", home));

if (installed) {
	registerHooks({
		resolve: (specifier, context, next) =>
			specifier.startsWith("@earendil-works/")
				? next(specifier, { ...context, parentURL: home.href })
				: next(specifier, context),
	});
}
