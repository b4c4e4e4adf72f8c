/**
 * The options page and the pages of a report, of a picture of stacks, of trajectories, of a comparison and of a diagnosis in a browser, in each of their states and in each theme of the editor:
 * axe-core finds nothing in them, nothing is cut in a narrow tab, nothing moves.
 *
 *     node tests/vscode/pages.mjs [--only STATE]
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { assertAccessible, assertReadable, violationsIn } from "./harness/accessibility.mjs";
import { launch } from "./harness/browser.mjs";
import { endAll, endWithRun } from "./harness/cleanup.mjs";
import { python, ROOT } from "./harness/ray.mjs";
import { options, Results } from "./harness/results.mjs";
import { shotsFolder } from "./harness/stage.mjs";
import { pageContents } from "./pages/page_contents.mjs";
import { exportedFile, tryExported } from "./pages/exported.mjs";
import { documentParts, recordedThemes, ThemedPage, usedVariables } from "./pages/themed.mjs";

const WINDOW = { width: 1500, height: 950 };
/** A window of that size at 200 %. */
const ZOOMED = { width: 750, height: 475 };
const WIDTHS = [300, 400, 750, 1150];

const { only } = options();
const results = new Results();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "er-pages-"));
endWithRun(() => fs.rmSync(folder, { recursive: true, force: true }));
const shots = shotsFolder("pages");
const { themes, style, names } = recordedThemes();
const [dark] = themes;
let browser;
try {
  const {
    comparisonStates,
    diagnosisStates,
    optionsStates,
    pageDocument,
    pictureStates,
    trajectoryStates,
    valueStates,
    waveStates,
  } = await pageContents(folder);
  const states = [
    ...optionsStates().map((state) => ({ ...state, page: "options_page" })),
    ...pictureStates().map((state) => ({ ...state, page: "picture_page" })),
    ...trajectoryStates().map((state) => ({ ...state, page: "trajectory_page" })),
    ...diagnosisStates().map((state) => ({ ...state, page: "diagnosis_page" })),
    ...comparisonStates().map((state) => ({ ...state, page: "comparison_page" })),
    ...waveStates().map((state) => ({ ...state, page: "wave_page" })),
    ...valueStates().map((state) => ({ ...state, page: "value_page" })),
    ...reportStates().map((state) => ({ ...state, page: "report_page" })),
  ].filter(({ name }) => name.includes(only));
  browser = await launch();
  endWithRun(() => browser.close());

  const opened = async ({ page, messages, typed = {} }, more = {}) => {
    const document = pageDocument({ ...documentParts(page), title: "train.py" });
    const shown = await ThemedPage.open(browser, page, document, {
      theme: dark,
      style,
      viewport: WINDOW,
      ...more,
    });
    for (const message of messages) await shown.take(message);
    for (const [id, text] of Object.entries(typed)) {
      const field = shown.page.locator(`#${id}`);
      await field.evaluate((element) => {
        const fold = element.closest("details");
        if (fold !== null) fold.open = true;
      });
      await field.fill(text);
    }
    return shown;
  };

  await test("the recorded colours have every colour that the pages use", () => {
    const known = new Set(names);
    const missing = [...usedVariables(style)].filter((name) => !known.has(name));
    assert.deepEqual(missing, [], "record them: node tests/vscode/themes.mjs");
  });

  await test("axe-core finds a field without a label, and text that is hard to read", async () => {
    const shown = await opened({ page: "options_page", messages: optionsStates()[1].messages });
    await shown.page.evaluate(() => {
      const text = Object.assign(document.createElement("p"), { textContent: "hard to read" });
      text.style.color = "#333";
      document.querySelector("form").append(document.createElement("input"), text);
    });
    const found = (await violationsIn(shown.page)).map(({ id }) => id);
    assert.deepEqual(found.sort(), ["color-contrast", "label"]);
    await shown.close();
  });

  await test("a screen reader hears the command once it was checked, and problems with their fields", async () => {
    const named = (wanted) => optionsStates().find(({ name }) => name === wanted);
    const open = (name) => opened({ page: "options_page", ...named(name) });
    const spoken = (shown) => shown.page.locator("#spoken[role=status]").textContent();
    const ready = await open("ready");
    assert.equal(await spoken(ready), "Ready to start. Command: python train.py --steps 3");
    await ready.close();
    const shortened = await open("short-test-run");
    assert.equal(await spoken(shortened), "Ready to start. Changed lines of the command: 2");
    await shortened.close();
    const wrong = await open("problems");
    assert.equal(await spoken(wrong), "4 problems. The first: Unclosed quote");
    const described = await wrong.page.evaluate(() =>
      [...document.querySelectorAll(".problem")]
        .filter((problem) => problem.checkVisibility())
        .map(({ id }) => document.querySelector(`[aria-describedby~="${id}"]`)?.id),
    );
    assert.deepEqual(described, ["args", "python", "cwd", "env", "ranks"]);
    await wrong.close();
  });

  await test("the checks of a run elsewhere say where its nodes are checked", async () => {
    const [ready, slurm] = ["ready", "slurm"].map((wanted) =>
      optionsStates().find(({ name }) => name === wanted),
    );
    const [facts] = ready.messages;
    const elsewhere = (kind) => [{ ...facts, form: { ...facts.form, kind } }];
    for (const [messages, sentence] of [
      [slurm.messages, "SLURM selects the nodes. Diagnose the job once it runs."],
      [elsewhere("job"), "The job runs on its cluster. Diagnose the cluster to check its nodes."],
      [elsewhere("remote"), "Another machine runs it. Open a remote window there to check it."],
      [ready.messages, "Not checked"],
    ]) {
      const shown = await opened({ page: "options_page", messages });
      assert.equal(await shown.page.locator("#checks-text").textContent(), sentence);
      const isHere = messages === ready.messages;
      assert.equal(await shown.page.locator("#checks button").first().isVisible(), isHere);
      await shown.close();
    }
  });

  await test("“Fix…” names its cause, and “Undo Fix” restores the fields that it has changed", async () => {
    const diagnosis = diagnosisStates().find(({ name }) => name === "causes");
    const causes = await opened({ page: "diagnosis_page", ...diagnosis });
    await causes.page.getByRole("button", { name: "Fix…" }).click();
    assert.equal((await causes.waitForSent("fix")).id, "cuda-oom");
    const [first] = await causes.page.locator(".lines .note").allTextContents();
    assert.match(first, / · WorkerDict pid=29197 rank 3 · 10\.0\.0\.4$/);
    await causes.close();
    const options = await opened({ page: "options_page", ...optionsStates()[0] });
    const undo = options.page.getByRole("button", { name: "Undo Fix" });
    await undo.click();
    const { form } = await options.waitForSent("edit");
    assert.deepEqual([form.args, form.env], ["policy.train_micro_batch_size=4", ""]);
    assert.equal(await undo.isVisible(), false);
    await options.close();
  });

  await test("keys lead through the runs of a wave, and to the buttons of their cells", async () => {
    const wave = waveStates().find(({ name }) => name === "wave");
    const shown = await opened({ page: "wave_page", ...wave });
    const { keyboard } = shown.page;
    const focused = () => shown.page.evaluate(() => document.activeElement.textContent);
    const walked = async (...keys) => {
      for (const key of keys) await keyboard.press(key);
      return await focused();
    };
    await shown.page.locator('[role=grid] [tabindex="0"]').focus();
    assert.equal(await focused(), "Item");
    assert.equal(await walked("ArrowDown"), "2");
    assert.equal(await walked("End", "ArrowLeft"), "Open Trace");
    await keyboard.press("Enter");
    assert.equal((await shown.waitForSent("trace")).trace, 5);
    assert.equal(await walked("ArrowLeft"), "agent.py:17");
    await keyboard.press(" ");
    assert.equal((await shown.waitForSent("source")).line, 17);
    assert.equal(await walked("Control+End"), "Debug This Item");
    await keyboard.press("Enter");
    assert.equal((await shown.waitForSent("debug")).item, 3);
    // The last heading belongs to both columns of buttons.
    assert.equal(await walked("ArrowUp", "ArrowUp"), "Actions");
    assert.equal(await walked("Shift+Tab", "Tab"), "Actions");
    await shown.close();
  });

  await test("a bar of unknown length moves only where motion is wanted", async () => {
    const messages = [{ kind: "loading", message: "Reading", percentage: null }];
    const state = { page: "report_page", messages };
    const shown = await opened(state, { reducedMotion: "no-preference" });
    assert.deepEqual(await shown.page.evaluate(moving), ["progress"]);
    await shown.close();
  });

  for (const state of states) {
    const what = `${state.page.replace("_", " ")}, ${state.name}`;

    const shown = await opened(state);

    await test(`${what}: nothing moves for users who want less motion`, async () => {
      assert.deepEqual(await shown.page.evaluate(moving), []);
    });

    await test(`${what}: nothing is cut in a narrow tab`, async () => {
      for (const width of WIDTHS) {
        await resize(shown.page, { width, height: 800 });
        assert.deepEqual(await wide(shown.page), [], `at ${width} px`);
        if (width === 300) await picture(shown, `${state.name}-300`, { fullPage: true });
      }
      await resize(shown.page, ZOOMED);
      await assertAccessible(shown.page, "at 200 %");
      await picture(shown, `${state.name}-200`);
    });

    await test(`${what}: Tab leads through all controls from top to bottom`, async () => {
      await resize(shown.page, WINDOW);
      assert.deepEqual(await tabOrder(shown.page), await controls(shown.page));
    });

    await test(`${what}: accessible in every theme`, async () => {
      await showWhole(shown.page);
      for (const theme of themes) {
        await shown.changeTheme(theme);
        await picture(shown, `${state.name}-${theme.kind.split(" ")[0]}`);
        // All other rules have the same outcome in each theme.
        if (theme === dark) await assertAccessible(shown.page, theme.theme);
        else await assertReadable(shown.page, theme.theme);
      }
      await shown.close();
    });
  }
  for (const [name, hostile, searched, hidden] of [
    ["mismatch", ["train.py", "Trainer.fit", "node-1", "Ranks 1"], "all_reduce", "prefetch-0"],
    ["causes", ["worker-3a.err", "10.0.0.4", "Start the"], "Not checked", "df -h /dev/shm"],
    ["differences", ["precision differs", "Qwen3"], "KL", "Worst Tokens"],
    ["wave", ["agent.py", "ValueError", "blocked"], "ValueError", "unknown completion"],
    ["report", ["policy-0"], "kernel", "NVTX"],
  ]) {
    const state = states.find((each) => each.name === name);
    if (state === undefined) continue;
    await test(`the exported page of “${name}” is a file with search and folds, and without a network`, async () => {
      await tryExported(browser, exportedFile(folder, state, hostile), { shots, searched, hidden });
    });
  }
} catch (error) {
  results.failed("the run itself", error.stack);
}
await endAll();
results.end();

async function test(title, work) {
  const since = Date.now();
  try {
    await work();
    results.passed(title, Date.now() - since);
  } catch (error) {
    results.failed(title, error.stack);
  }
}

/** Writes a screenshot where they are wanted: no test compares them, and drawing them takes a third of the time. */
async function picture({ page, name }, title, more = {}) {
  if (process.env.EAGLERAY_SHOTS === undefined) return;
  await page.screenshot({ path: path.join(shots, `${name}-${title}.png`), ...more });
}

/** A bar that stays at the bottom hides parts of what can be scrolled, which has no size then. */
async function showWhole(page) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ ...WINDOW, height: Math.max(WINDOW.height, height) });
}

/** A report as the sidecar reads it, and what else the page of a report shows. */
function reportStates() {
  const run = (program, ...args) => execFileSync(program, args, { cwd: ROOT, maxBuffer: 1 << 26 });
  run(python(), "-m", "tests.profile.reports.page_report", folder);
  const file = path.join(folder, "policy.sqlite");
  const eagleray = path.join(path.dirname(python()), "eagleray");
  const report = JSON.parse(run(eagleray, "report", file, "--json", "--top", "100"));
  const message = (changes = {}) => ({
    kind: "report",
    title: "policy-0 (rank 0)",
    report: { ...report, worker: "policy-0", class_name: "Policy", rank: 0, ...changes },
  });
  const loading = (percentage) => ({ kind: "loading", message: "Reading", percentage });
  const warnings = [
    { code: "cut", message: "Kernels are missing.", next_step: "Record for a shorter time." },
  ];
  return [
    { name: "loading", messages: [loading(null)] },
    { name: "progress", messages: [loading(40)] },
    { name: "report", messages: [message()] },
    { name: "warnings", messages: [message({ warnings, gpus: [], tables: [] })] },
    {
      name: "failed",
      messages: [
        { kind: "failed", message: "policy.nsys-rep has 0 bytes.", nextStep: "Run `nsys` again." },
        { kind: "announcement", sentence: "Copied the path." },
      ],
    },
  ];
}

async function resize(page, size) {
  await page.setViewportSize(size);
  // Observers of sizes are told while the next frame is rendered; the one after it shows what they did.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  });
}

/**
 * Elements wider than the window: the page itself, a control that leaves it, or a cell of a table that fits a narrow
 * tab.
 */
async function wide(page) {
  return await page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    const found = scrollWidth > clientWidth ? [`the page by ${scrollWidth - clientWidth} px`] : [];
    const isScrolled = (element) => element.closest(".table, .command, .tree") !== null;
    for (const element of document.querySelectorAll("input, select, textarea, button, summary")) {
      const { left, right, width } = element.getBoundingClientRect();
      if (width > 0 && !isScrolled(element) && (left < 0 || right > clientWidth)) {
        found.push(element.outerHTML.slice(0, 80));
      }
    }
    if (clientWidth <= 600) {
      for (const cell of document.querySelectorAll(".ranks :is(th, td)")) {
        const { left, right, width } = cell.getBoundingClientRect();
        if (width === 0 || left < 0 || right > clientWidth) found.push(cell.outerHTML);
      }
    }
    return found;
  });
}

/** The names of what moves in the page and inside of its elements, called there. */
function moving() {
  const within = (root) =>
    [...root.querySelectorAll("*")].flatMap((element) => [
      ...element.getAnimations(),
      ...(element.shadowRoot === null ? [] : within(element.shadowRoot)),
    ]);
  return within(document).map((one) => one.animationName ?? String(one));
}

/** The controls of the page that the keyboard reaches, as they stand in the document. */
async function controls(page) {
  return await page.evaluate(() => {
    const reached =
      'input, select, textarea, button, summary, a[href], vscode-textfield, [tabindex="0"]';
    const all = [...document.querySelectorAll(reached)];
    return (
      all
        .filter((element) => element.checkVisibility() && !element.disabled)
        // Keys of the grid lead to its other buttons.
        .filter((element) => element.tabIndex >= 0 || element.closest("[role=grid]") === null)
        .map((element) => element.id || element.textContent.trim().slice(0, 60))
    );
  });
}

/** The same, as Tab reaches them from the start of the page. */
async function tabOrder(page) {
  await page.evaluate(() => {
    document.activeElement?.blur();
    window.getSelection()?.removeAllRanges();
    const start = document.createElement("div");
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    start.remove();
  });
  const order = [];
  for (let step = 0; step < 200; step += 1) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => {
      const { activeElement: active } = document;
      const isOut = active === null || active === document.body;
      return isOut ? undefined : active.id || active.textContent.trim().slice(0, 60);
    });
    if (name === undefined) break;
    order.push(name);
  }
  return order;
}
