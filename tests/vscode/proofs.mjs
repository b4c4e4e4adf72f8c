/**
 * Programs of others in a real VS Code: Ray Train's TorchTrainer and RLlib's PPO, from the row to a successful end.
 *
 *     node tests/vscode/proofs.mjs [--vscode 1.139]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { interpreter } from "../../scripts/environments.mjs";
import { ROOT, startProgram } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { until } from "./harness/until.mjs";

const PYTHON = interpreter("proofs");
const CARTPOLE = path.join("gymnasium", "envs", "classic_control", "cartpole.py");
/** These programs import large libraries in several processes at once. */
const STARTING_MS = 240_000;
const STATE = "        x, x_dot, theta, theta_dot = self.state\n";

await browserRun(
  "proof",
  async ({ stage, window, test }) => {
    const { page } = window;
    const button = (name) => window.button(name);
    const crumbs = page.locator(".breadcrumbs-control");
    const gone = async () => !(await window.toolbar().isVisible());
    /** Clicks a row and waits for that line of that file with these variables. */
    const attachAt = async (row, file, text, variables) => {
      await window.attach(row, () => window.toolbar().isVisible(), "a session is open");
      await waitForStop(file, text, variables);
    };
    const waitForStop = async (file, text, variables) => {
      const line = lineWith(file, text);
      await window.waitForStopAt(line);
      const frame = page.locator(".debug-call-stack .monaco-list-row", { hasText: `${line}:1` });
      await window.waitFor(frame, "the frame in the call stack");
      for (const name of path.relative(stage.workspace, file).split(path.sep)) {
        await window.waitFor(crumbs.filter({ hasText: name }), `${name} in the path of the file`);
      }
      for (const name of variables) {
        await window.waitFor(variable(name), `the variable ${name}`);
      }
    };
    const variable = (name) => page.locator(".debug-variables .monaco-list-row", { hasText: name });
    /** The page of the value that was opened last. */
    const value = () =>
      page.frameLocator("iframe.webview.ready >> visible=true").frameLocator("#active-frame");
    const viewValue = async (row, shown) => {
      await window.fromMenu(
        row,
        "View Value",
        () => value().getByText(shown).first().isVisible(),
        shown,
      );
    };
    let program;

    const trainer = path.join(stage.workspace, "torch_trainer.py");
    const workers = window.row(/RayTrainWorker.*PID \d+/);
    const rank = variable(/^rank/);
    let pid, first;
    await test("TorchTrainer: the panel lists both gloo workers", async () => {
      program = startProgram(stage.cluster, PYTHON, trainer, stage.base);
      await window.openPanel();
      await window.waitFor(window.row(/RayTrainWorker.*2/), "the group", STARTING_MS);
      await window.waitFor(workers.nth(1), "both workers");
      [, pid] = /PID (\d+)/.exec(await workers.first().textContent());
      await window.shot("torch-trainer");
    });

    await test("TorchTrainer: a click shows the train function, with variables", async () => {
      await attachAt(window.row(`PID ${pid}`), trainer, "stands: train_func", [/^rank/, /^loss/]);
      first = await rank.textContent();
      await window.evaluate("model.module.in_features * 1000", "4000");
      await window.evaluate("torch.distributed.get_backend()", "'gloo'");
      await window.shot("train-function");
    });

    await test("TorchTrainer: shapes are shown beside the lines up to the stop", async () => {
      const inline = (text) => page.locator(".monaco-editor .view-line", { hasText: text }).first();
      await window.waitFor(inline("features: Tensor (8, 4) fp32 cpu"), "the shape");
      await window.waitFor(inline(/backward\(\)\s*loss\s=\s[\d.]+/), "the number");
      await window.shot("inline-values");
    });

    await test("TorchTrainer: View Value shows a tensor’s statistics, numbers and image", async () => {
      await viewValue(variable(/^features/), "Tensor (8, 4) · float32 · cpu · 128 B");
      await window.waitFor(value().getByText("Standard deviation"), "its statistics");
      await window.waitFor(value().locator("td").nth(31), "its numbers");
      await window.waitFor(
        value().getByText(`at torch_trainer.py:${lineWith(trainer, "stands: train_func")}`),
        "the place",
      );
      await window.shot("value");
      const image = value().getByRole("img", { name: "Image of 8 rows and 4 columns" });
      await window.click(
        value().getByRole("button", { name: "Show as Image" }),
        () => image.isVisible(),
        "the image",
      );
      await window.shot("value-image");
    });

    await test("TorchTrainer: the page keeps the numbers of a session that has ended", async () => {
      await window.click(button("Disconnect"), gone, "the session has ended");
      await window.waitFor(value().getByText("The session has ended."), "the reason");
      await window.shot("value-ended");
    });

    await test("TorchTrainer: a click on the other rank does, too, and the training succeeds", async () => {
      await window.openPanel();
      await attachAt(window.worker("RayTrainWorker", "paused"), trainer, "stands: train_func", [
        /^rank/,
      ]);
      const ranks = [first, await rank.textContent()].map((text) => /\d/.exec(text)[0]);
      if (ranks.sort().join() !== "0,1") throw new Error(`their ranks are ${ranks}`);
      await window.click(button("Continue"), () => !program.running(), "the program has ended");
      await program.endsSuccessfully("trained: error None");
      await until(gone, "the session has ended with its worker");
    });

    const library = installLibrary(path.join(stage.workspace, ".venv"));
    await test("RLlib: a click shows an installed library's file, with variables", async () => {
      const site = library.slice(0, -CARTPOLE.length - 1);
      program = startProgram(
        stage.cluster,
        PYTHON,
        path.join(stage.workspace, "cartpole.py"),
        site,
      );
      await window.openPanel();
      const runner = page.locator('.pane-body .monaco-list-row[aria-label*=", paused, "]', {
        hasText: "EnvRunner",
      });
      await window.waitFor(runner, "the worker", STARTING_MS);
      await attachAt(runner, library, STATE.trim(), [/^action/, /^self/]);
      await window.evaluate("int(action) in (0, 1)", "True");
      await window.shot("library");
    });

    await test("RLlib: the continued worker stops in the environment, and the training succeeds", async () => {
      const environment = path.join(stage.workspace, "cartpole.py");
      const line = lineWith(environment, "stands: env");
      await window.click(button("Continue"), () => window.isStoppedAt(line), "it stopped there");
      await waitForStop(environment, "stands: env", [/^reward/, /^observation/]);
      await window.evaluate("self.steps * 1001", "3003");
      await window.shot("environment");
      await window.click(button("Disconnect"), gone, "the session has ended");
      await program.endsSuccessfully("trained: iteration 1");
    });
  },
  {
    program: path.join(ROOT, "tests", "programs", "proofs"),
    ray: PYTHON,
    driver: false,
  },
);

/** Lays a copy of the installed gymnasium into `venv`, with a breakpoint() in a file of its own. */
function installLibrary(venv) {
  const site = path.join("lib", "python3.11", "site-packages");
  const from = path.join(path.dirname(path.dirname(PYTHON)), site, "gymnasium");
  fs.cpSync(from, path.join(venv, site, "gymnasium"), { recursive: true });
  const file = path.join(venv, site, CARTPOLE);
  const stop = `        self.steps = getattr(self, "steps", 0) + 1
        if self.steps == 2:
            breakpoint()
`;
  fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(STATE, stop + STATE));
  return file;
}

function lineWith(file, text) {
  const lines = fs.readFileSync(file, "utf8").split("\n");
  return lines.findIndex((line) => line.includes(text)) + 1;
}
