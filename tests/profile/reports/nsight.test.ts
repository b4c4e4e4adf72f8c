import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { Uri as VscodeUri } from "vscode";

import { newestFirst, openInNsight } from "../../../extension/profile/reports/nsight";
import { fakeApp, settled, type FakeApp } from "../../fakes/app";
import { editor, env, Uri } from "../../fakes/vscode";

const PATH = "/w/my reports/a;b.nsys-rep";
const URI = Uri.file(PATH) as unknown as VscodeUri;
const SETTING = "eagleray.profiling.nsightSystems";

let fake: FakeApp;
let folder: string;
const before = { ...process.env };

beforeEach(() => {
  editor.reset();
  folder = mkdtempSync(join(tmpdir(), "er-nsight-"));
  fake = fakeApp();
  Object.assign(fake.app.context, { logUri: Uri.file(folder) });
  Object.assign(process.env, { DISPLAY: ":1", PATH: `.:${folder}:${before["PATH"] ?? ""}` });
});

afterEach(() => {
  rmSync(folder, { recursive: true });
  Object.assign(process.env, { DISPLAY: before["DISPLAY"] ?? "", PATH: before["PATH"] });
  Object.assign(env, { remoteName: undefined });
});

/** Keeps the words that it gets, and ends with `code`. */
function program(name = "nsys-ui", code = 0): string {
  const path = join(folder, name);
  const words = `printf '%s\\n' "$0" "$@" > ${folder}/.new; mv ${folder}/.new ${folder}/words`;
  writeFileSync(path, `#!/bin/sh\n${words}\necho cannot open display >&2\nexit ${code}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await setTimeout(5);
  }
}

/** The words of the program that was started. */
async function started(): Promise<readonly string[]> {
  const file = join(folder, "words");
  await until(() => existsSync(file));
  const words = readFileSync(file, "utf8").trimEnd().split("\n");
  rmSync(file);
  return words;
}

/** The message, and then the buttons. */
async function told(): Promise<readonly string[]> {
  openInNsight(fake.app, URI);
  await settled();
  const asked = editor.asked.at(-1);
  return [asked?.text ?? "", ...(asked?.buttons ?? [])];
}

test("the program of the PATH gets the file as one argument, without a shell", async () => {
  const path = program();
  openInNsight(fake.app, URI);
  assert.deepEqual(await started(), [path, PATH]);
  assert.deepEqual(editor.asked, []);
});

test("the program of the setting is used, unless it is invalid", async () => {
  editor.settings[SETTING] = program("mine");
  openInNsight(fake.app, URI);
  assert.deepEqual(await started(), [join(folder, "mine"), PATH]);
  for (const wrong of ["/nowhere/nsys-ui", "nsys-ui", folder]) {
    editor.settings[SETTING] = wrong;
    const [words = "", ...buttons] = await told();
    assert.match(words, /nsightSystems is not a program/);
    assert.deepEqual(buttons, ["Copy Path", "Reveal File", "Show Log"]);
  }
});

test("a failure is shown, and the log has its output", async () => {
  program("nsys-ui", 134);
  openInNsight(fake.app, URI);
  await until(() => editor.asked.length > 0);
  assert.match(editor.asked[0]?.text ?? "", /nsys-ui ended with 134/);
  assert.match(fake.log.text, /cannot open display/);
});

test("a program that cannot be run is an error", async () => {
  writeFileSync(program(), "#!/nowhere/sh\n");
  openInNsight(fake.app, URI);
  await until(() => editor.asked.length > 0);
  assert.match(editor.asked[0]?.text ?? "", /nsys-ui could not be started: .*ENOENT/);
});

test("without a screen a message says to move the file to one", async () => {
  program();
  process.env["DISPLAY"] = process.env["WAYLAND_DISPLAY"] = "";
  editor.answer = () => "Copy Path";
  assert.match((await told())[0] ?? "", /has no display.*Copy the report to your computer/);
  assert.equal(editor.clipboard, PATH);
  assert.equal(existsSync(join(folder, "words")), false);
});

test("from another machine a file of the workspace can be downloaded, others not", async () => {
  Object.assign(env, { remoteName: "ssh-remote" });
  assert.deepEqual((await told()).slice(1), ["Copy Path", "Reveal File", "Show Log"]);
  editor.folders = [{ uri: Uri.file("/w"), name: "w", index: 0 }];
  editor.answer = () => "Download";
  assert.equal((await told())[1], "Download");
  await settled();
  const done = editor.executed.map(({ command }) => command);
  assert.deepEqual(done, ["revealInExplorer", "explorer.download"]);
});

test("in a workspace that is not trusted nothing is started", async () => {
  program();
  editor.trusted = false;
  assert.match((await told())[0] ?? "", /untrusted workspace/);
  assert.equal(existsSync(join(folder, "words")), false);
});

test("the newest Nsight Systems comes first", () => {
  const names = ["2024.6.2", "other", "2025.1", "2024.10.1", "2025.1.1"];
  assert.deepEqual(newestFirst(names), ["2025.1.1", "2025.1", "2024.10.1", "2024.6.2", "other"]);
});
