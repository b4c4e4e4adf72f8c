// Texts that nothing translates become fewer: the golden file has how many of them each module has left.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { pseudo } from "../../scripts/texts/pseudo.mjs";
import { textsOf, untranslated } from "../../scripts/texts/typescript_texts.mjs";

const GOLDEN = "tests/manifest/golden/untranslated.json";

test("texts that are not translated become no more", () => {
  const counts = {};
  for (const { file } of untranslated("extension")) {
    counts[file] = (counts[file] ?? 0) + 1;
  }
  if (process.env.UPDATE_EXPECT === "1") {
    writeFileSync(GOLDEN, `${JSON.stringify(counts, undefined, 2)}\n`);
  }
  const golden = JSON.parse(readFileSync(GOLDEN, "utf8"));
  const more = untranslated("extension").filter(
    ({ file }) => (counts[file] ?? 0) > (golden[file] ?? 0),
  );
  assert.deepEqual(more, [], "write l10n.t(…), or UPDATE_EXPECT=1 for a module that was renamed");
});

/** The lines of `source` whose text is found as untranslated, and the texts that are translated. */
function findings(source) {
  const folder = mkdtempSync(join(tmpdir(), "texts-"));
  try {
    writeFileSync(join(folder, "planted.ts"), source);
    const lines = untranslated(folder).map(({ line }) => line);
    return { lines, texts: textsOf(folder).texts };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("sentences and words that the editor shows are found, translated ones and logs are not", () => {
  const { lines, texts } = findings(`
    import { l10n } from "some module name";
    show("This is a sentence.");
    const item = { label: "Restart", id: "restart", command: "eagleray.restart" };
    const text = \`\${name} has exited\`;
    vscode.window.showInformationMessage("Done");
    show(l10n.t("No worker is paused."), vscode.l10n.t({ message: "Line {0}", comment: ["a line"] }));
    log.warn("The reason is logged here.");
    throw new Error("This is a mistake of ours.");
    type Answer = "an answer of two";
  `);
  assert.deepEqual(lines, [3, 4, 5, 6]);
  assert.deepEqual(texts, ["Line {0}", "No worker is paused."]);
});

test("the pseudo-language keeps placeholders, links, icons and code", () => {
  assert.equal(
    pseudo("[Restart](command:eagleray.restart) $(debug) {0} of `nsys`"),
    "⟦[Ŕēśţàŕţ](command:eagleray.restart) $(debug) {0} ōƒ `nsys`⟧",
  );
});
