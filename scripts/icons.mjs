// Draws the icons from media/*.svg: media/icon.png of the Marketplace, and the font with the ray of the status bar and
// the editor's title. `--check` fails if the font is stale; a PNG differs between versions of Chromium.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import svg2ttf from "svg2ttf";
import SvgPath from "svgpath";

import { launch } from "../tests/vscode/harness/browser.mjs";
import { root } from "./paths.mjs";

const SIZE = 128;
/** The code of the ray in the font, as in `contributes.icons` of package.json. */
const CODE = "&#xE001;";
/** Units of the font: the height of a line, and the part of it above the baseline. */
const EM = 1000;
const ASCENT = 850;

const media = (name) => join(root, "media", name);
const font = ray(readFileSync(media("ray.svg"), "utf8"));

if (process.argv.includes("--check")) {
  if (!font.equals(readFileSync(media("eagleray.ttf")))) {
    console.error("media/eagleray.ttf is stale. Run: npm run icons");
    process.exitCode = 1;
  }
} else {
  writeFileSync(media("eagleray.ttf"), font);
  writeFileSync(media("icon.png"), await drawn(readFileSync(media("icon.svg"), "utf8")));
}

/** A font with one glyph, drawn by the only path of `svg`. */
function ray(svg) {
  const [, size] = /viewBox="0 0 (\d+) \d+"/.exec(svg);
  const [, path] = / d="([^"]+)"/.exec(svg);
  const scale = EM / Number(size);
  // In a font y grows upwards, from the baseline.
  const matrix = { a: scale, d: -scale, f: ASCENT };
  const glyph = transformed(path, matrix);
  const text = `<svg xmlns="http://www.w3.org/2000/svg"><defs><font id="eagleray" horiz-adv-x="${EM}">
<font-face font-family="eagleray" units-per-em="${EM}" ascent="${ASCENT}" descent="${ASCENT - EM}"/>
<missing-glyph horiz-adv-x="${EM}"/>
<glyph glyph-name="ray" unicode="${CODE}" horiz-adv-x="${EM}" d="${glyph}"/></font></defs></svg>`;
  // Without its own time the file would differ each time.
  return Buffer.from(svg2ttf(text, { ts: 0 }).buffer);
}

function transformed(path, { a, d, f }) {
  return new SvgPath(path).matrix([a, 0, 0, d, 0, f]).round(2).toString();
}

async function drawn(svg) {
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: { width: SIZE, height: SIZE } });
    await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${svg}`);
    return await page.screenshot({ omitBackground: true });
  } finally {
    await browser.close();
  }
}
