// Every rule of eslint.layers.mjs catches an import that is planted, and lets its neighbour pass.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ESLint } from "eslint";

const root = process.cwd();

/** file, import that is refused there, import that is allowed there */
const CASES: readonly (readonly [string, string, string])[] = [
  ["extension/main.ts", "vscode-jsonrpc/node", "vscode"],
  ["extension/common/planted.ts", "vscode", "./texts"],
  ["extension/common/planted.ts", "../debug/workers/model", "../debug/workers/messages"],
  ["extension/common/planted.ts", "../sidecar/launch", "./events"],
  ["extension/sidecar/planted.ts", "../debug/workers/view", "vscode-jsonrpc/node"],
  ["extension/page/planted.ts", "../profile/reports/nsight", "vscode"],
  ["extension/page/frame/planted.ts", "vscode", "@vscode/l10n"],
  ["extension/debug/workers/planted.ts", "node:child_process", "vscode"],
  ["extension/clusters/planted.ts", "../debug/workers/view", "../debug/workers/messages"],
  ["extension/debug/workers/planted.ts", "../source_mapping/question", "../../clusters/view"],
  ["extension/debug/source_mapping/planted.ts", "../attaching", "../workers/rows"],
  ["extension/debug/attaching/planted.ts", "../pdb/opening", "../source_mapping/question"],
  ["extension/debug/pdb/planted.ts", "../../runs/store", "../attaching/model"],
  ["extension/runs/planted.ts", "./presets/options_page", "../debug/attaching/model"],
  ["extension/runs/presets/deep/planted.ts", "../../../profile/recordings", "../../draft"],
  ["extension/profile/recordings/planted.ts", "../reports/nsight", "../../runs/presets/page"],
  ["extension/profile/reports/planted.ts", "node:child_process", "../recordings/report_picker"],
  ["extension/debug/attaching/deep/planted.ts", "../../../runs/rows", "../model"],
  ["extension/rollouts/servers/planted.ts", "../agent_model", "../../runs/draft"],
  ["extension/rollouts/planted.ts", "../doctor/fixing", "./servers/commands"],
  ["extension/clusters/planted.ts", "vscode-jsonrpc", "../sidecar/sidecar"],
  ["extension/clusters/rows.ts", "vscode", "./messages"],
  ["extension/debug/workers/logs/model.ts", "vscode", "./messages"],
  ["extension/debug/workers/paused_rows.ts", "vscode", "./messages"],
  ["extension/runs/presets/options_model.ts", "vscode", "../parse_input"],
  ["extension/sidecar/connection.ts", "vscode", "./sidecar"],
  ["extension/sidecar/interpreter.ts", "node:child_process", "node:path"],
];

async function refusals(file: string, from: string): Promise<readonly string[]> {
  return await refusalsOf(file, `import * as planted from "${from}";\nexport default planted;\n`);
}

async function refusalsOf(file: string, text: string): Promise<readonly string[]> {
  const { default: parser } = await import("typescript-eslint");
  const eslint = new ESLint({
    cwd: root,
    overrideConfigFile: join(root, "eslint.layers.mjs"),
    baseConfig: [{ files: ["**/*.ts"], languageOptions: { parser: parser.parser } }],
  });
  const results = await eslint.lintText(text, { filePath: join(root, file) });
  return results.flatMap((result) => result.messages.map((message) => message.message));
}

for (const [file, refused, allowed] of CASES) {
  test(`${file} may import ${allowed}, not ${refused}`, async () => {
    assert.equal((await refusals(file, refused)).length, 1);
    assert.deepEqual(await refusals(file, allowed), []);
  });
}

test("a part without the editor may translate its texts, and take nothing else of the editor", async () => {
  const named = (name: string): string => `export { ${name} } from "vscode";\n`;
  const file = "extension/clusters/rows.ts";
  assert.deepEqual(await refusalsOf(file, named("l10n")), []);
  assert.equal((await refusalsOf(file, named("window"))).length, 1);
});

test("only a neighbour is read later, whatever it may import at once", async () => {
  const later = (from: string): string => `export const planted = () => import("${from}");\n`;
  const file = "extension/debug/workers/planted.ts";
  assert.deepEqual(await refusalsOf(file, later("./log_commands.js")), []);
  for (const from of ["../runs/commands.js", "vscode-jsonrpc/node.js", "./deep/view.js"]) {
    assert.equal((await refusalsOf(file, later(from))).length, 1);
  }
});

/** Each file of the extension, with the files that it imports; types and later imports count as well. */
function importGraph(): Map<string, string[]> {
  const files = readdirSync("extension", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join("extension", file));
  const imports = (file: string): string[] =>
    [...readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)"/g)].flatMap(([, to]) => {
      const path = join(file, "..", (to ?? "").replace(/\.js$/, ""));
      return [`${path}.ts`, join(path, "index.ts")].filter((target) => files.includes(target));
    });
  return new Map(files.map((file) => [file, imports(file)]));
}

/** The files of a graph that remain after all that import nothing else in it are removed, again and again. */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(graph);
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const [file, imports] of left) {
      if (!imports.some((to) => left.has(to))) {
        left.delete(file);
      }
    }
  }
  return [...left.keys()];
}

test("files of the extension import one another in one direction", () => {
  assert.deepEqual(
    circles(
      new Map([
        ["a", ["b"]],
        ["b", ["a", "c"]],
        ["c", []],
      ]),
    ),
    ["a", "b"],
  );
  const graph = importGraph();
  assert.ok(graph.get(join("extension", "tree_view.ts"))?.includes(join("extension", "panel.ts")));
  assert.deepEqual(circles(graph), []);
});
