// The content of the registries' pages.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { repositoryArguments, repositoryFields } from "../../scripts/repository.mjs";

const manifest = JSON.parse(readFileSync(join(process.cwd(), "package.json"), "utf8"));
/** The categories of the Marketplace that fit a debugger; it refuses names that it doesn't know. */
const CATEGORIES = ["Data Science", "Debuggers", "Machine Learning", "Testing", "Visualization"];
/** More tags are refused. */
const MAX_KEYWORDS = 30;

test("the icon is a PNG of 128 pixels", () => {
  const png = readFileSync(join(process.cwd(), manifest.icon));
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [128, 128]);
});

test("categories and keywords are accepted", () => {
  assert.deepEqual(
    manifest.categories.filter((each) => !CATEGORIES.includes(each)),
    [],
  );
  assert.ok(manifest.keywords.length <= MAX_KEYWORDS);
  assert.equal(new Set(manifest.keywords).size, manifest.keywords.length);
});

test("the font of icons equals the drawing", () => {
  execFileSync(process.execPath, [join(process.cwd(), "scripts", "icons.mjs"), "--check"]);
});

test("every icon of our own is declared", () => {
  const used = [
    ...readFileSync(join(process.cwd(), "package.json"), "utf8").matchAll(/\$\((eagleray-\w+)\)/g),
    ...readFileSync(join(process.cwd(), "extension", "status_bar.ts"), "utf8").matchAll(
      /\$\((eagleray-\w+)\)/g,
    ),
  ].map(([, name]) => name);
  assert.deepEqual([...new Set(used)], Object.keys(manifest.contributes.icons));
});

test("one setting fills the fields and links of a repository", () => {
  const page = "https://git.example.org/team/eagleray";
  assert.deepEqual(repositoryFields(page), {
    repository: { type: "git", url: `${page}.git` },
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
    qna: `${page}/issues`,
  });
  assert.ok(repositoryArguments(page).includes(`${page}/raw/HEAD`));
  assert.deepEqual(repositoryFields(""), {});
});
