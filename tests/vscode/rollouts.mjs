/**
 * Rollouts in a real VS Code: two real servers compared, a dump followed while it grows, trajectories saved as a batch
 * with torch, the script that trains on it, and an agent debugged and run in a wave.
 *
 *     node tests/vscode/rollouts.mjs [--vscode 1.139]
 */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { interpreter } from "../../scripts/environments.mjs";
import { assertAccessible, frameOf } from "./harness/accessibility.mjs";
import { endWithRun } from "./harness/cleanup.mjs";
import { pastePath } from "./harness/files.mjs";
import { python, ROOT } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { setStageWithoutCluster } from "./harness/stage_without_cluster.mjs";
import { until } from "./harness/until.mjs";
import { agents } from "./agents/agents.mjs";

const KEY = "sk-engine-of-tests";
const PROMPTS = Array.from({ length: 12 }, (_, at) => ({ prompt: `def parse_${at}(self, names` }));
const ROWS = Array.from({ length: 4 }, (_, at) => ({
  eagleray: 1,
  group: "7",
  sample: at,
  prompt: "2+2",
  completion: `It is ${at}.`,
  token_ids: [1, 300 + at, 301, 2],
  mask: [0, 0, 1, 1],
  logprobs: [0, 0, -0.5, -0.25],
  reward: at % 2,
}));

await browserRun(
  "rollouts",
  async ({ stage, window, test }) => {
    const { page } = window;
    const shown = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    const rows = page.locator(".quick-input-list .monaco-list-row");
    const tab = (name) => page.locator(".tab.active", { hasText: name });
    const titled = (text) => page.locator(".quick-input-widget:visible", { hasText: text });
    const code = (text) => page.locator(".editor-instance .view-lines", { hasText: text });

    const pick = async (text, effect) => {
      await window.click(rows.filter({ hasText: text }), effect, `“${text}” is chosen`);
    };
    /** Types a path into the editor's dialog, which first fills in a folder and lists it; Enter takes the focused row. */
    const choose = async (file, effect) => {
      await window.waitFor(window.quickInput(), `the dialog for ${file}`);
      const value = () => window.quickInput().inputValue();
      await until(
        async () => (await value()).includes(stage.workspace),
        "the dialog has its first folder",
      );
      await window.waitFor(rows, "the rows of the folder");
      const folder = `${path.dirname(file)}/`;
      if (!(await value()).startsWith(folder)) {
        await window.quickInput().fill(folder);
        await window.waitFor(rows.filter({ hasText: path.basename(file) }), "the other folder");
      }
      // The dialog to save proposes this file.
      if ((await value()) !== file) {
        await window.quickInput().fill(file);
        const focused = rows.and(page.locator(".focused"));
        await window.waitFor(focused.filter({ hasText: path.basename(file) }), "the row of it");
      }
      await window.gesture(() => page.keyboard.press("Enter"), effect, `${file} is chosen`);
    };
    const chooseUrl = async (url, title, effect) => {
      await window.waitFor(titled(title), title);
      await pick("URL of a Server", () => titled("OPENAI_API_KEY").isVisible());
      await window.quickInput().fill(url);
      await window.gesture(() => page.keyboard.press("Enter"), effect, `${url} is entered`);
    };

    const prompts = path.join(stage.workspace, "prompts.jsonl");
    const dump = path.join(stage.workspace, "train_data_step1.jsonl");
    const config = path.join(stage.workspace, "gsm8k_grpo.yaml");
    const batch = path.join(stage.workspace, "train_data_step1.pt");
    fs.writeFileSync(prompts, PROMPTS.map((row) => `${JSON.stringify(row)}\n`).join(""));
    fs.writeFileSync(dump, ROWS.map((row) => `${JSON.stringify(row)}\n`).join(""));
    writeAreal(stage.workspace);
    fs.writeFileSync(config, "experiment_name: gsm8k\n");

    await test("two servers are compared: the sentence, the map, a cell by keys", async () => {
      const [a, b] = await Promise.all([serve(), serve("--flash-attention", "off")]);
      await window.waitFor(window.icon(), "the extension");
      await window.command("Eagleray: Compare Engines", () =>
        titled("engine of the rollouts").isVisible(),
      );
      await chooseUrl(a, "engine of the rollouts", () => titled("(2/2): trainer").isVisible());
      await chooseUrl(b, "(2/2): trainer", () => titled("Select the Prompts").isVisible());
      const kind = shown.locator("h1", { hasText: "Kernel mismatch" });
      await pastePath(window, prompts, () => kind.isVisible());
      await window.waitFor(shown.getByText("12 of 12 have the same token ids"), "the prompts");
      await window.waitFor(shown.locator("table.map tr").nth(11), "a row for each sequence");
      await window.shot("comparison");
      await shown.locator('table.map [tabindex="0"]').focus();
      for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
      const detail = shown.locator(".detail", { hasText: /^Sequence \d+, token 1: Δlogp -?\d/ });
      await window.waitFor(detail, "the numbers of the cell");
      await assertAccessible(await frameOf(shown.locator("body")));
      await window.shot("cell");
    });

    await test("the same is compared again in the same tab", async () => {
      const again = shown.locator("button", { hasText: "Compare Again" });
      await again.click();
      await window.waitFor(shown.locator("button[aria-disabled=false]"), "the new result");
      assert.equal(await page.locator(".tab", { hasText: "127.0.0.1" }).count(), 1);
    });

    await test("a dump that grows while it is open shows its new lines", async () => {
      // Trainers write dumps into a folder of logs outside the workspace.
      const logs = fs.mkdtempSync(path.join(os.tmpdir(), "er-dumps-"));
      endWithRun(() => fs.rmSync(logs, { recursive: true, force: true }));
      const growing = path.join(logs, "growing.jsonl");
      const [first] = ROWS.map((row) => `${JSON.stringify(row)}\n`);
      const added = (completion) => JSON.stringify({ ...ROWS[1], completion });
      fs.writeFileSync(growing, first);
      await window.command("Eagleray: Open Trajectories", () =>
        titled("Select a Dump of Trajectories").isVisible(),
      );
      await pastePath(window, growing, () => tab("growing.jsonl").isVisible());
      const listed = shown.locator(".list tbody tr");
      await until(async () => (await listed.count()) === 1, "its only trajectory");
      await listed.first().click();
      await window.waitFor(shown.locator("#item-title"), "the trajectory below the list");
      fs.appendFileSync(growing, `${added("a second line")}\n${added("a third").slice(0, 9)}`);
      await window.waitFor(listed.filter({ hasText: "a second line" }), "the line that was added");
      assert.equal(await listed.count(), 2, "half of a line doesn't count");
      await window.waitFor(
        shown.getByText("Line 3 of growing.jsonl isn't complete."),
        "the half of a line",
      );
      fs.appendFileSync(growing, `${added("a third").slice(9)}\n`);
      await window.waitFor(listed.filter({ hasText: "a third" }), "the line that is whole now");
      assert.equal(await shown.locator(".list .badge").textContent(), "3");
      await window.waitFor(shown.locator("#item-title"), "the trajectory that was opened");
      await window.shot("growing");
    });

    await test("a dump is saved as a batch, whose tensors are listed", async () => {
      await window.command("Eagleray: Save Batch", () =>
        titled("Select a Dump of Trajectories").isVisible(),
      );
      await pastePath(window, dump, () => titled("Save Trajectories as a Batch").isVisible());
      await choose(batch, () => tab("train_data_step1.pt.txt").isVisible());
      await window.waitFor(code("loaded without executing anything"), "how it was loaded");
      await window.waitFor(code(/input_ids\s+4x4/), "its tensors");
      await window.waitForMessage("Saved 4 trajectories.", "what was saved");
      await window.shot("batch");
    });

    await test("the batch leads to a script, which is opened", async () => {
      await window.answerMessage(
        "Saved 4 trajectories.",
        "Replay…",
        () => titled("Select the Configuration").isVisible(),
        "the button",
      );
      await pastePath(window, config, () => tab("replay.py").isVisible());
      await window.waitForMessage("replay.py trains on the batch.", "the question");
      await window.shot("replay");
      const script = fs.readFileSync(path.join(stage.workspace, "replay.py"), "utf8");
      assert.match(script, /weights_only=True/);
      assert.ok(script.includes(batch));
    });

    await test("the script is debugged: it stops where the batch is loaded", async () => {
      const lines = fs.readFileSync(path.join(stage.workspace, "replay.py"), "utf8").split("\n");
      const line = lines.findIndex((text) => text.includes("trajectories = batch if")) + 1;
      await window.toggleBreakpoint(line, true);
      await window.answerMessage(
        "replay.py trains on the batch.",
        "Debug",
        () => window.toolbar().isVisible(),
        "the button",
      );
      await window.waitForStopAt(line);
      await window.evaluate("tuple(batch['input_ids'].shape)", "(4, 4)");
      await window.shot("debugged");
      await window.click(
        window.button("Continue"),
        async () => !(await window.toolbar().isVisible()),
        "the training has ended",
      );
      await window.openPanel();
      await window.waitFor(window.row(/replay\.py.*exited/), "the run without a failure");
    });

    await agents({ stage, window, test });
  },
  { driver: false, stage: stageWithTorch },
);

/** Programs of the workspace run in the environment that has torch. */
async function stageWithTorch() {
  const stage = await setStageWithoutCluster();
  const env = { VIRTUAL_ENV: path.dirname(path.dirname(interpreter("proofs"))) };
  return { ...stage, env: { ...stage.env, ...env, OPENAI_API_KEY: KEY } };
}

/** A package `areal` in `folder`, which does what the script calls. */
function writeAreal(folder) {
  const code = "import sys, pathlib; from tests.rollouts.batches import stub_areal as stub";
  const call = "stub.write(pathlib.Path(sys.argv[1]))";
  execFileSync(python(), ["-c", `${code}; ${call}`, folder], { cwd: ROOT });
}

/** The URL of a server of the tests' model, which ends with the run. */
async function serve(...more) {
  const server = spawn(interpreter("engine"), ["-m", "tests.engine", ...more], {
    cwd: ROOT,
    env: { ...process.env, LLAMA_API_KEY: KEY },
    stdio: ["ignore", "pipe", "ignore"],
  });
  endWithRun(() => server.kill("SIGTERM"));
  let printed = "";
  // Its output is read to its end: an iteration that is left closes the pipe, and the next line would end the server.
  server.stdout.on("data", (text) => (printed += text));
  const listening = () => /^listening on (http:\S+)$/m.exec(printed);
  await until(() => listening() !== null || server.exitCode !== null, "the server listens");
  if (listening() !== null) return `${listening()[1]}/v1`;
  throw new Error("the server has ended");
}
