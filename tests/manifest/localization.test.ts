// Every text of package.json is in package.nls.json, so that it can be translated.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

const read = (file: string): Json => JSON.parse(readFileSync(file, "utf8")) as Json;
const manifest = read("package.json") as { readonly [name: string]: Json };
const texts = read("package.nls.json") as Readonly<Record<string, string>>;

/** The fields of package.json whose values the editor shows. */
const SHOWN = new Set([
  "title",
  "label",
  "description",
  "markdownDescription",
  "enumDescriptions",
  "displayName",
  "contents",
  "contextualTitle",
  "shortTitle",
  "altText",
]);

/** Names of products are the same in every language. */
const NAMES = ["Eagleray"];

interface Field {
  readonly path: string;
  readonly text: string;
}

/** Each string that the editor shows, with its path in package.json. */
function shownTexts(value: Json, path: string, isShown: boolean): Field[] {
  if (typeof value === "string") {
    return isShown ? [{ path, text: value }] : [];
  }
  if (typeof value !== "object" || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([name, part]: [string, Json]) => {
    // The body of a snippet is a file of the user's, its label isn't.
    const isText = Array.isArray(value) ? isShown : SHOWN.has(name) || isNameOfView(path, name);
    return name === "body" ? [] : shownTexts(part, `${path}.${name}`, isText);
  });
}

function isNameOfView(path: string, name: string): boolean {
  return name === "name" && path.includes(".views.");
}

const shown = [
  ...shownTexts(manifest["description"] ?? "", "description", true),
  ...shownTexts(manifest["capabilities"] ?? {}, "capabilities", false),
  ...shownTexts(manifest["contributes"] ?? {}, "contributes", false),
];

test("every text of package.json is a key of package.nls.json", () => {
  const plainTexts = shown.filter(({ text }) => !/^%[^%]+%$/.test(text) && !NAMES.includes(text));
  assert.deepEqual(plainTexts, []);
});

test("package.nls.json has the keys that package.json names, and no others", () => {
  const named = shown
    .filter(({ text }) => text.startsWith("%"))
    .map(({ text }) => text.slice(1, -1));
  assert.deepEqual(Object.keys(texts).sort(), [...new Set(named)].sort());
  for (const [key, text] of Object.entries(texts)) {
    assert.ok(text.trim() !== "", key);
  }
});
