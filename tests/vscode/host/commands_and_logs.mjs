/** Commands, terminals, tasks and logs. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { assert, common, LIMIT, openCommon, test, until } from "./lab.mjs";

export function commandsAndLogs() {
  describe("commands and logs:", function () {
    const lab = common;
    before(openCommon);
    afterEach(() => lab.clean());

    it("every command of the manifest is registered", async () => {
      const { packageJSON } = vscode.extensions.getExtension("eagleray.eagleray");
      const registered = await vscode.commands.getCommands(true);
      const missing = packageJSON.contributes.commands
        .map((each) => each.command)
        .filter((command) => !registered.includes(command));
      assert.deepStrictEqual(missing, []);
    });

    it("the command eagleray is on the PATH of terminals and lists the same worker", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const out = path.join(test.base, "listed.json");
      const script = 'eagleray paused --json > "$0.new" 2> "$0.errors" && mv "$0.new" "$0"';
      const terminal = vscode.window.createTerminal({
        name: "eagleray",
        shellPath: "/bin/sh",
        shellArgs: ["-c", script, out],
      });
      await until(() => fs.existsSync(out), "the command has answered", LIMIT);
      terminal.dispose();
      const listed = JSON.parse(fs.readFileSync(out, "utf8"));
      assert.deepStrictEqual(
        listed.map((each) => each.worker_id),
        [row.worker_id],
      );
    });

    it("the preLaunchTask of a run runs once", async () => {
      const counted = path.join(test.base, "counted.txt");
      const settings = path.join(test.workspace, ".vscode");
      const task = { label: "count", type: "process", command: "sh" };
      const args = ["-c", 'echo once >> "$0"', counted];
      fs.mkdirSync(settings, { recursive: true });
      fs.writeFileSync(
        path.join(settings, "tasks.json"),
        JSON.stringify({ version: "2.0.0", tasks: [{ ...task, args }] }),
      );
      const isListed = async () =>
        (await vscode.tasks.fetchTasks()).some((each) => each.name === "count");
      await until(isListed, "the editor lists the task", LIMIT);
      // The program doesn't exist, so that only the task runs.
      const hasStarted = await vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], {
        ...{ type: "eagleray", request: "launch", name: "counting" },
        ...{ program: path.join(test.base, "nowhere.py"), preLaunchTask: "count" },
      });
      assert.deepStrictEqual([hasStarted, fs.readFileSync(counted, "utf8")], [false, "once\n"]);
    });

    it("a search result opens its line in the log", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const { cluster, worker_id } = row;
      const query = JSON.stringify({ cluster, worker_id, stream: "err", lines: 50_000 });
      const path = "/p0 found.log";
      const line = vscode.Uri.from({ scheme: "eagleray-log", path, query, fragment: "L2" });
      await vscode.commands.executeCommand("vscode.open", line);
      const { document } = await until(
        () =>
          vscode.window.visibleTextEditors.find(
            (each) => each.document.uri.path === path && each.selection.active.line === 1,
          ),
        "the log is open at the line",
        LIMIT,
        openCommon,
      );
      assert.ok(document.lineCount > 2, document.getText());
    });
  });
}
