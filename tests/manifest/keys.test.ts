// Our keys take no key of VS Code, of the Python extension or of Jupyter; the lists of theirs are recorded.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FOCUSED_ROW } from "../../extension/panel";

interface Keybinding {
  readonly command: string;
  readonly key: string;
  readonly mac?: string;
  readonly when?: string;
  readonly args?: unknown;
}
interface SystemKeys {
  readonly everywhere: readonly string[];
  readonly somewhere: readonly string[];
}

const read = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));
const { contributes } = read("package.json") as {
  readonly contributes: { readonly keybindings: readonly Keybinding[] };
};
// `node tests/vscode/default_keys.mjs` records them.
const recorded = read("tests/manifest/recorded/default_keys.json") as Readonly<
  Record<"linux" | "mac" | "windows", SystemKeys>
>;
const extensions = ["python", "jupyter"].map(
  (name) =>
    read(`tests/manifest/recorded/${name}_extension_keys.json`) as {
      readonly keys: readonly string[];
    },
);

/** The same for each order of its modifiers. */
function normalized(key: string): string {
  return key.split("+").sort().join("+");
}

function isOfView({ when = "" }: Keybinding): boolean {
  return /^focusedView == eagleray\.\w+ && listFocus && !inputFocus$/.test(when);
}

for (const system of ["linux", "mac", "windows"] as const) {
  test(`no key is one of VS Code's, the Python extension's or Jupyter's on ${system}`, () => {
    const { everywhere, somewhere } = recorded[system];
    // Where a row of ours has the focus, commands of other views and editors don't apply.
    const takenInView = new Set(everywhere.map(normalized));
    const ofExtensions = extensions.flatMap(({ keys }) => keys);
    const taken = new Set([...everywhere, ...somewhere, ...ofExtensions].map(normalized));
    assert.ok(taken.size > 200);
    const collisions = contributes.keybindings.filter((binding) => {
      const key = normalized(system === "mac" ? (binding.mac ?? binding.key) : binding.key);
      return (isOfView(binding) ? takenInView : taken).has(key);
    });
    assert.deepEqual(collisions, []);
  });
}

test("every key has a context, and no two commands have the same key in one context", () => {
  const contexts = contributes.keybindings.map(
    ({ key, when }) => `${normalized(key)} ${String(when)}`,
  );
  assert.deepEqual(new Set(contexts).size, contexts.length);
  for (const { command, when } of contributes.keybindings) {
    assert.ok(when !== undefined, command);
  }
});

test("the keys of a view act on the row with the focus", () => {
  const ofViews = contributes.keybindings.filter(isOfView);
  assert.ok(ofViews.length > 3);
  for (const { command, args } of ofViews) {
    assert.equal(args, FOCUSED_ROW, command);
  }
});
