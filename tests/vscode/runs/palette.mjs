/** The words that users think of, in the palette of a window where nothing runs, among all commands of the editor. */

import assert from "node:assert/strict";
import { until } from "../harness/until.mjs";

/** The title of a command by the words that lead to it. */
const WORDS = {
  "Why Is It Stuck? (Hangs, Deadlocks, Freezes)": ["hangs", "deadlock", "freeze", "stuck"],
  "Open Stacks (py-spy, gdb)…": ["py-spy", "gdb", "open stacks"],
  "Diagnose Logs (Crash, OOM)": ["crash", "oom", "diagnose", "diagnose logs"],
  "Debug on Ray": ["debug on", "debug ray"],
  "Debug on Ray with Options (Ranks)…": ["rank", "ranks", "options"],
  "Short Test Run…": ["short", "short test", "test run"],
  "Profile on Ray (nsys)…": ["nsys", "profile on"],
  "Open Report…": ["report"],
  "Connect to Cluster (SSH, Tunnel)…": ["tunnel", "cluster", "ssh", "connect to"],
  "Add SLURM Login Node…": ["slurm", "login node"],
  "Start Inference Server (vLLM, SGLang)…": ["vllm", "sglang", "inference", "start server"],
  "Debug Agent…": ["agent", "debug agent"],
  "Run a Wave of an Agent…": ["wave"],
  "Open Trajectories (Rollouts)…": ["rollout", "trajectories"],
  "Compare Engines (Logprobs)…": ["logprob", "compare engines"],
  "Save Batch…": ["batch"],
  "Select Interpreter for Ray Programs…": ["interpreter for"],
  "Open Sample Project": ["sample"],
  "Get Started: Debug Ray in 2 Minutes": ["get started: debug", "minutes"],
};
/** "hang" is a part of "Change", so that commands of the editor come first; "hangs" is not. */
const FIRST = 3;
const LISTED_MS = 300;

export async function wordsOfThePalette({ window, test }) {
  const rows = window.page.locator(".quick-input-list .monaco-list-row");
  const listed = async () => {
    const all = await rows.evaluateAll((found) =>
      found.map((row) => [
        Number(row.getAttribute("data-index")),
        row.querySelector(".label-name")?.textContent ?? "",
      ]),
    );
    return all.sort(([one], [other]) => one - other).map(([, name]) => name);
  };

  await test("the words of users find the command among the first three of the palette", async () => {
    const missed = [];
    await window.page.keyboard.press("F1");
    await window.quickInput().waitFor();
    // While the editor starts, its palette lists what it had at the last letter.
    const hasOurs = async () => {
      await window.quickInput().fill(">Eagle");
      await window.quickInput().fill(">Eagleray: ");
      await window.page.waitForTimeout(LISTED_MS);
      return (await listed()).some((name) => name.startsWith("Eagleray: "));
    };
    await until(hasOurs, "our commands");
    for (const [title, words] of Object.entries(WORDS)) {
      for (const word of words) {
        await window.quickInput().fill(`>${word}`);
        const isFirst = async () =>
          (await listed()).slice(0, FIRST).some((name) => name === `Eagleray: ${title}`);
        await until(isFirst, "", 3000).catch(async () => {
          missed.push(`${word}: ${(await listed()).slice(0, FIRST).join(" | ")}`);
        });
      }
    }
    await window.page.keyboard.press("Escape");
    assert.deepEqual(missed, []);
  });
}
