/**
 * Look Inside in a real VS Code: from a worker's row that waits in C to its variables and values, and to a
 * real stop when it runs Python code again; the worker continues.
 *
 *     node tests/vscode/inspecting.mjs [--vscode 1.139]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { python, ROOT, startProgram } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";

const WAITING = "lock.acquire()  # waits here";
const RETURNING = "return sum(";

await browserRun(
  "inspecting",
  async ({ stage, window, test }) => {
    const { page } = window;
    const file = path.join(stage.workspace, "waiting.py");
    const partner = path.join(stage.base, "partner");
    const row = window.rowOf("Clusters", "trainer-0");
    const variable = (text) => page.locator(".debug-variables .monaco-list-row", { hasText: text });
    let program;

    await test("Look Inside shows where the worker waits, with variables", async () => {
      program = startProgram(stage.cluster, python(), file, partner);
      await window.openPanel();
      const cluster = window.rowOf("Clusters", "1 worker").first();
      await window.waitFor(cluster, "the cluster with the worker");
      await window.click(cluster, () => row.first().isVisible(), "the worker is listed");
      await window.clickRowButton(
        row,
        "Look Inside",
        () => window.toolbar().isVisible(),
        "a session is open",
      );
      await window.waitForStopAt(lineWith(file, WAITING));
      await window.waitFor(variable(/^steps\s*=?\s*41/), "the variable steps");
      const stopped = page.locator(".debug-call-stack .monaco-list-row", {
        hasText: /Looking inside$/,
      });
      await window.waitFor(stopped, "the reason in the call stack");
      await window.shot("variables");
    });

    await test("the console evaluates, and says why it refuses", async () => {
      await window.evaluate("batch['tokens'][2] * 1000 + steps", "8041");
      await window.evaluate("partner.upper()", "begin it with !");
      await window.shot("console");
    });

    await test("a step says why it isn't possible", async () => {
      await window.clickOnce(window.button("Step Over").first());
      await window.waitForMessage("is running, so it can't step", "the reason");
      await window.shot("step");
    });

    await test("Pause at Next Line waits for Python code, then really stops and steps", async () => {
      await window.clearMessages();
      const dialog = page.locator(".monaco-dialog-box");
      await window.gesture(
        () => window.button("Pause at Next Line").first().click(),
        () => dialog.getByText("collectives may time out").isVisible(),
        "the consequences",
      );
      await window.shot("consequences");
      await window.click(
        dialog.locator(".monaco-button", { hasText: "Pause" }),
        async () => !(await dialog.isVisible()),
        "the dialog is answered",
      );
      await window.waitFor(page.getByText("It stops at its next line"), "what it waits for");
      await window.waitForStopAt(lineWith(file, WAITING));
      fs.writeFileSync(partner, "");
      await window.waitForStopAt(lineWith(file, RETURNING));
      const paused = page.locator(".debug-call-stack .monaco-list-row", {
        hasText: "Paused on pause",
      });
      await window.waitFor(paused, "the real stop in the call stack");
      await window.waitFor(variable(/^steps\s*=?\s*41/), "the variable steps");
      await window.shot("stopped");
      await window.evaluate("sum(batch['tokens']) * 1000", "16000");
      if (!program.running()) throw new Error("the program has ended");
    });

    await test("Disconnect leaves the worker as it is, and it goes on", async () => {
      const isGone = async () => !(await window.toolbar().isVisible());
      await window.click(window.button("Disconnect"), isGone, "the session has ended");
      await program.endsSuccessfully("went on with 57");
    });
  },
  { program: path.join(ROOT, "tests", "programs", "inspecting"), driver: false },
);

function lineWith(file, text) {
  return (
    fs
      .readFileSync(file, "utf8")
      .split("\n")
      .findIndex((line) => line.includes(text)) + 1
  );
}
