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
        const shown = page.locator(".debug-variables .monaco-list-row", { hasText: name });
        await window.waitFor(shown, `the variable ${name}`);
      }
    };
    let program;

    const trainer = path.join(stage.workspace, "torch_trainer.py");
    const workers = window.row(/RayTrainWorker.*PID \d+/);
    const rank = page.locator(".debug-variables .monaco-list-row", { hasText: /^rank/ });
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
      await window.click(button("Disconnect"), gone, "the session has ended");
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
