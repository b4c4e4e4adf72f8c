/** The local file of a worker's file. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import {
  assert,
  breakpoint,
  editorAt,
  fileOf,
  frameInFront,
  Lab,
  LIMIT,
  line,
  POLICY,
  proceed,
  setting,
  waitForStopAt,
  STEPS,
  test,
  until,
} from "./lab.mjs";

const BIDI = "\u202e";
export const HOSTILE = `[x](command:evil) $(zap) <b>**b**</b>\n${BIDI}\u001b[31mred`;

export function mapping() {
  describe("an uploaded working_dir:", function () {
    const lab = new Lab();
    const text = fs.readFileSync(STEPS, "utf8");
    before(() => lab.open({ p0: 0 }, test.workspace, test.workspace));
    afterEach(() => lab.clean());
    after(async () => {
      fs.writeFileSync(STEPS, text);
      await lab.close();
    });

    it("maps to the workspace automatically, and breakpoints there work", async () => {
      const { row } = await lab.pause("p0", "train_in_library", 0);
      const at = await lab.attach(row);
      assert.notStrictEqual(at.session.configuration.path, STEPS);
      assert.strictEqual(fileOf(at.top), STEPS);
      await editorAt(STEPS, line("advances", STEPS));
      breakpoint(line("advanced", STEPS), {}, STEPS);
      await proceed(at);
      await waitForStopAt(at.session, line("advanced", STEPS));
    });

    it("opens beside a local file that differs", async () => {
      fs.writeFileSync(STEPS, text.replace("[advances]", "[advances] changed since"));
      const { row } = await lab.pause("p0", "train_in_library", 0);
      await lab.attach(row);
      await editorAt(STEPS, line("advances", STEPS));
      const shown = () =>
        vscode.window.tabGroups.all.flatMap((group) => group.tabs).map((tab) => tab.input);
      await frameInFront();
      await vscode.commands.executeCommand("eagleray.compareWithWorker");
      const diff = await until(
        () => shown().find((input) => input instanceof vscode.TabInputTextDiff),
        "the diff editor is open",
        LIMIT,
      );
      assert.strictEqual(diff.modified.fsPath, STEPS);
      const worker = await vscode.workspace.openTextDocument(diff.original);
      assert.strictEqual(worker.getText(), text);
      assert.strictEqual(worker.languageId, "python");
    });
  });

  describe("a file that is elsewhere:", function () {
    const lab = new Lab();
    const elsewhere = path.join(test.base, "elsewhere");
    const copies = ["a", "b"].map((name) => path.join(test.workspace, name, "policy.py"));
    before(async () => {
      fs.cpSync(test.workspace, elsewhere, { recursive: true });
      for (const copy of copies) {
        fs.mkdirSync(path.dirname(copy), { recursive: true });
        fs.copyFileSync(POLICY, copy);
      }
      await lab.open({ p0: 0, [HOSTILE]: null }, elsewhere);
      // As on another machine: the worker has the code, this machine has no file of that path.
      fs.rmSync(elsewhere, { recursive: true });
    });
    afterEach(() => lab.clean());
    after(async () => {
      for (const copy of copies) fs.rmSync(path.dirname(copy), { recursive: true });
      await lab.close();
    });

    it("pathMappings select the local file", async () => {
      const pairs = [{ remote: elsewhere, local: "${workspaceFolder}/b" }];
      await setting("pathMappings", { [test.cluster.address]: pairs });
      try {
        const { row } = await lab.pause("p0", "train", 0);
        const at = await lab.attach(row);
        assert.strictEqual(fileOf(at.top), copies[1]);
        await editorAt(copies[1], line("after"));
      } finally {
        await setting("pathMappings", undefined);
      }
    });

    it("the answer to the question about the file is kept", async () => {
      const { row } = await lab.pause("p0", "train_twice", 0);
      const attaching = lab.command("attach", row);
      let done = false;
      attaching.then(() => (done = true));
      // An extension can't see when the question is shown; until then the command does nothing.
      await until(
        async () => {
          await vscode.commands.executeCommand("workbench.action.acceptSelectedQuickOpenItem");
          return done;
        },
        "the first answer of the question was taken",
        LIMIT,
        700,
      );
      const at = await lab.waitForStop(row);
      assert.ok([POLICY, ...copies].includes(fileOf(at.top)), fileOf(at.top));
      await editorAt(fileOf(at.top), at.top.line);
      await vscode.debug.stopDebugging(at.session);
      const again = await lab.attach(await lab.row("p0"));
      assert.strictEqual(fileOf(again.top), fileOf(at.top));
    });

    it("a worker's name with markup, escapes and a line end is shown as text", async () => {
      lab.call(HOSTILE, "train", 0);
      const row = await until(
        () => lab.rows().find((each) => each.name.includes("(command:evil)")),
        "its row",
        LIMIT,
      );
      assert.doesNotMatch(row.name, /[\n\u001b\u202e]/);
      const at = await lab.attach(row);
      assert.doesNotMatch(at.session.name, /[\n\u001b\u202e]|\$\(|\]\(/);
    });
  });
}
