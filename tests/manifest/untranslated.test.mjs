// Every text of the extension that a user reads is translated.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { pseudo } from "../../scripts/texts/pseudo.mjs";
import { textsOf, untranslated } from "../../scripts/texts/typescript_texts.mjs";

test("every text that a user reads is translated", () => {
  assert.deepEqual(untranslated("extension"), [], "write l10n.t(…), or declare a Verbatim");
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

test("sentences and words that the editor shows are found; translated ones, logs and names are not", () => {
  const { lines, texts } = findings(`
    import { l10n } from "some module name";
    show("This is a sentence.");
    const item = { label: "Restart", id: "restart", command: "eagleray.restart" };
    const text = \`\${name} has exited\`;
    vscode.window.showInformationMessage("Done");
    show(l10n.t("No worker is paused."), vscode.l10n.t({ message: "Line {0}", comment: ["a line"] }));
    log.warn("The reason is logged here.");
    throw new Error("This is a mistake of ours.");
    type Answer = "an answer of two" | "the other answer";
    const answer: Answer = "the other answer";
    if (answer === "an answer of two") log("This is logged, too.");
    type Verbatim = string & Record<never, never>;
    const path: Verbatim = "/a folder/of programs";
    longWork("Opening a terminal");
  `);
  assert.deepEqual(lines, [3, 4, 5, 6, 15]);
  assert.deepEqual(texts, ["Line {0}", "No worker is paused."]);
});

test("the pseudo-language keeps placeholders, links, icons and code", () => {
  assert.equal(
    pseudo("[Restart](command:eagleray.restart) $(debug) {0} of `nsys`"),
    "⟦[Ŕēśţàŕţ](command:eagleray.restart) $(debug) {0} ōƒ `nsys`⟧",
  );
});
