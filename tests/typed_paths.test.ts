// Lists that take typed text: what a path is understood as, and why it can't be used.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";

import { pathOf, understoodPath, askForPath } from "../extension/typed_paths";
import { settled } from "./fakes/app";
import { editor } from "./fakes/vscode";

const FOLDER = mkdtempSync(join(tmpdir(), "er-paths-"));
const PYTHON = join(FOLDER, "env", "bin", "python");
const LOG = join(FOLDER, "train.log");

mkdirSync(join(FOLDER, "env", "bin"), { recursive: true });
writeFileSync(PYTHON, "");
chmodSync(PYTHON, 0o755);
writeFileSync(LOG, "");
after(() => {
  rmSync(FOLDER, { recursive: true });
});
beforeEach(() => {
  editor.reset();
  editor.answersLists = false;
});

const WRITTEN: readonly (readonly [string, string | undefined])[] = [
  ["/a/b", "/a/b"],
  [" '/a/b c' ", "/a/b c"],
  ['"/a/b"', "/a/b"],
  ["~/x", "/home/me/x"],
  ["~", "/home/me"],
  ["logs/a.log", "/w/logs/a.log"],
  ["../x", "/x"],
  ["file:///a/b%20c", "/a/b c"],
  ["file://other/a", undefined],
  ["ssh://host/a", undefined],
  ["", undefined],
];

for (const [written, file] of WRITTEN) {
  test(`${JSON.stringify(written)} names ${file ?? "no path"}`, () => {
    assert.equal(pathOf(written, "/home/me", "/w"), file);
  });
}

test("a typed path can be used, or says why not", async () => {
  const row = async (
    text: string,
    kind: "file" | "folder" | "any" | "program",
  ): Promise<unknown> => {
    const { label, detail } = (await understoodPath(text, kind, (path) => path)) ?? {};
    return detail ?? label;
  };
  assert.equal(await row(LOG, "file"), `Use ${LOG}`);
  assert.equal(await row(FOLDER, "any"), `Use ${FOLDER}`);
  assert.match(String(await row(FOLDER, "file")), /^This is a folder/);
  assert.match(String(await row(LOG, "folder")), /^This is a file/);
  assert.match(String(await row(`${LOG}x`, "file")), /doesn’t exist/);
  assert.equal(await row(PYTHON, "program"), `Use ${PYTHON}`);
  assert.equal(await row(join(FOLDER, "env"), "program"), `Use ${PYTHON}`);
  assert.match(String(await row(LOG, "program")), /^No Python/);
  assert.equal(await row("train", "file"), undefined);
});

test("Enter right after a path was pasted takes it", async () => {
  const asked = askForPath({ title: "A log", kind: "any" });
  await settled();
  editor.picks[0]?.enter(LOG);
  assert.equal(await asked, LOG);
  assert.equal(editor.picks[0]?.disposed, true);
});

test("Enter on a path that can't be used leaves the list open", async () => {
  const asked = askForPath({ title: "A log", kind: "file" });
  await settled();
  editor.picks[0]?.enter(FOLDER);
  await settled();
  assert.equal(editor.picks[0]?.open, true);
  editor.picks[0].hide();
  assert.equal(await asked, undefined);
});
