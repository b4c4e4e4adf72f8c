/**
 * A run with a mouse, in a real VS Code, of a program that brings its own Ray and has no breakpoint() in it:
 * from a dot in the gutter to the stop, over changed lines, a pause and a second run, to its end.
 *
 *     node tests/vscode/runs.mjs [--vscode 1.139|1.105]
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import * as path from "node:path";
import { assertAccessible, frameOf } from "./harness/accessibility.mjs";
import { OptionsPage } from "./harness/options_page.mjs";
import { setStageWithoutCluster } from "./harness/stage_without_cluster.mjs";
import { openFile as open } from "./harness/files.mjs";
import { markedWith } from "./harness/processes.mjs";
import { lineOf } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { until } from "./harness/until.mjs";
import { firstRun, picture, withPictures } from "./runs/first_run.mjs";
import { wordsOfThePalette } from "./runs/palette.mjs";
import { liveProblem } from "./runs/live_problem.mjs";
import { serverSteps } from "./runs/server.mjs";

await browserRun(
  "runs",
  async (story) => {
    const { stage, server, window, test } = story;
    const { page } = window;
    await wordsOfThePalette(story);
    await firstRun(story);
    const learner = path.join(stage.workspace, "learner.py");
    const line = (mark) => lineOf(learner, mark);
    const options = new OptionsPage(window);
    const tab = (name) => page.locator(".tab.active", { hasText: name });
    // With its key, since the title of “Debug on Ray with Options…” begins so as well.
    const title = (name) =>
      page
        .locator(`.editor-actions .action-label[aria-label^="${name} ("]`)
        .locator("visible=true");
    /** A button of its own, not the first entry of the run menu. */
    const ownTitle = (name) =>
      title(name).locator("xpath=self::*[not(ancestor::*[contains(@class, 'dropdown')])]");
    const variables = page.locator(".debug-variables .monaco-list-row");
    const terminal = page.locator(".part.panel .xterm-rows");
    const programs = (name = "train.py") =>
      markedWith("EAGLERAY_HOME", stage.home, path.join(stage.workspace, name));
    const over = /train\.py\s*(exited|cancelled)/;
    const runs = page.locator(".pane", { has: page.locator(".pane-header[aria-label^=Runs]") });
    const run = (text) => runs.locator(".monaco-list-row", { hasText: text });

    const openFile = (name) =>
      open(window, stage.workspace, name, () => tab(name).first().isVisible());

    /** Clicks a button of a row, in the panel, which the debug view of a new session has replaced. */
    async function inline(row, name, effect, what) {
      await window.openPanel();
      await window.clickRowButton(row, name, effect, what);
    }

    async function disconnect() {
      await window.click(
        window.button("Disconnect"),
        async () => !(await window.toolbar().isVisible()),
        "the session is closed",
      );
    }

    /** At its place: under Control the editor draws the line of a link again, which takes the element from a click. */
    async function followLink(link) {
      const { x, y, width, height } = await link.boundingBox();
      await page.keyboard.down("Control");
      try {
        await page.mouse.click(x + width / 2, y + height / 2);
      } finally {
        await page.keyboard.up("Control");
      }
    }

    await test("the view without runs shows what it is for", async () => {
      await window.openPanel();
      const start = page.locator(".welcome-view a.monaco-button", {
        hasText: "Open Sample Project",
      });
      await window.waitFor(start, "a button to start");
      await window.shot("no-runs");
    });

    const closeEditors = () =>
      window.command("View: Close All Editors", async () => (await tab(/./).count()) === 0);

    await test("“Short Test Run…” shows what a preset changes, and starts nothing", async () => {
      await openFile("run_ppo.sh");
      await window.command("Eagleray: Short Test Run", () => options.isOpen());
      await window.waitFor(options.frame.getByText(/\d+ changes apply/), "the changes");
      await window.waitFor(options.frame.locator(".command .added"), "the diff of the command");
      await options.checkAccessibility();
      await window.shot("short-test-run");
      await window.gesture(
        () => options.field("No checkpoints").click(),
        async () => !(await options.field("No checkpoints").isChecked()),
        "the tick is gone",
      );
      await window.waitForNone(
        options.frame.locator(".command .added", { hasText: "save_freq" }),
        "its line of the diff",
      );
      await window.waitForNone(run(/run_ppo/), "a run");
      await window.click(
        options.button("Open Diff"),
        () => page.locator(".monaco-diff-editor").first().isVisible(),
        "both texts are side by side",
      );
      await window.shot("diff");
      await closeEditors();
    });

    await test("problems are shown at their fields while typing", async () => {
      await openFile("train.py");
      await window.command("Eagleray: Debug on Ray with Options", () => options.isOpen());
      await window.waitFor(options.status("Ready to start"), "that it can start");
      await window.shot("options");
      await options.fill("Arguments", "--name 'open");
      await window.waitFor(options.problem("Unclosed quote"), "the open quote");
      await options.fill("Arguments", "--steps 3");
      await window.waitFor(
        options.frame.locator(".command", { hasText: "--steps" }),
        "the command",
      );
      await options.fill("Ranks", "x");
      await window.waitFor(options.problem("Enter numbers or ranges"), "the wrong ranks");
      await options.fill("Folder", "/nowhere");
      await options.fill("Ranks", "");
      await window.waitFor(options.problem("folder not found"), "the missing folder");
      await window.shot("problems");
      // The page doesn't start with a problem: it leads to the field.
      await window.key(
        "Control+Enter",
        () => options.hasFocus("Folder"),
        "the focus is in the field",
      );
      await options.checkAccessibility();
      await options.fill("Folder", stage.workspace);
      await window.waitFor(options.status("Ready to start"), "that it can start");
      const checks = options.frame.locator("#checks-text", { hasText: /All fine|warning/ });
      await window.waitFor(checks, "the checks, which no click has started");
      await window.waitForNone(run(/train/), "a run");
    });

    await test("the options are saved to launch.json, and are there after the page was closed", async () => {
      const file = path.join(stage.workspace, ".vscode", "launch.json");
      await options.fill("Arguments", "--steps 3");
      await window.click(
        options.button("Save to launch.json"),
        () => existsSync(file) && statSync(file).size > 0,
        "launch.json is written",
      );
      const { configurations } = JSON.parse(readFileSync(file, "utf8"));
      assert.equal(configurations[0].program, "${workspaceFolder}/train.py");
      assert.deepEqual(configurations[0].args, ["--steps", "3"]);
      await window.clearMessages();
      await closeEditors();
      await openFile("train.py");
      await window.command("Eagleray: Debug on Ray with Options", () => options.isOpen());
      assert.equal(await options.field("Arguments").inputValue(), "--steps 3");
      await options.fill("Arguments", "");
      await window.waitFor(options.status("Ready to start"), "that it can start");
      await closeEditors();
    });

    await test("the page is accessible in every theme and at 200 %", async () => {
      await openFile("run_ppo.sh");
      await window.command("Eagleray: Short Test Run", () => options.isOpen());
      await window.waitFor(options.frame.getByText(/\d+ changes apply/), "the changes");
      await options.frame.locator("#record summary").click();
      await options.field("Record with Nsight Systems").check();
      await window.waitFor(options.field("Workers to record"), "the fields of a recording");
      for (const [theme, kind] of [
        ["Default Light Modern", "vscode-light"],
        ["Default Dark Modern", "vscode-dark"],
        ["Default High Contrast", "vscode-high-contrast"],
        ["Default High Contrast Light", "vscode-high-contrast-light"],
      ]) {
        await window.applySettings(server, { ...stage.settings, "workbench.colorTheme": theme });
        const drawn = options.frame.locator(`body.${kind}`);
        await until(async () => (await drawn.count()) === 1, `the theme ${theme}`);
        await options.checkAccessibility();
        await window.shot(`options-${kind}`);
      }
      await window.applySettings(server, stage.settings);
      const size = page.viewportSize();
      await page.setViewportSize({ width: size.width / 2, height: size.height / 2 });
      await options.checkAccessibility();
      await window.shot("options-200");
      await page.setViewportSize(size);
      await closeEditors();
    });

    await test("a SLURM job is submitted only after its exact command is confirmed", async () => {
      await openFile("batch.sub");
      const question = page.locator(".monaco-dialog-box", { hasText: "sbatch" });
      await window.command("Eagleray: Debug on Ray", () => question.isVisible());
      await window.waitFor(question.getByText(/: sbatch .*batch\.sub.$/), "the command");
      await window.shot("slurm");
      await window.click(
        question.locator(".monaco-button", { hasText: "Cancel" }),
        async () => !(await question.isVisible()),
        "the answer is no",
      );
      await window.waitForNone(run(/batch/), "a run");
      await window.command("View: Close All Editors", async () => (await tab(/./).count()) === 0);
    });

    await test("the editor title's button starts the program, and its worker stops at the gutter breakpoint", async () => {
      await openFile("learner.py");
      await window.toggleBreakpoint(line("loss"), true);
      await openFile("train.py");
      await window.waitFor(ownTitle("Debug on Ray"), "the button of a file that imports Ray");
      assert.equal(await title("Debug on Ray").count(), 1);
      await window.shot("title");
      await window.click(
        title("Debug on Ray"),
        () => page.locator(".terminal-outer-container").first().isVisible(),
        "the output is open",
      );
      await window.waitForStopAt(line("loss"));
      await window.waitFor(variables.filter({ hasText: "rewards" }), "the variable rewards");
      await window.shot("stopped-at-line");
    });

    await test("a terminal shows the output of the run", async () => {
      await window.openPanel();
      await window.waitFor(run(/train\.py.*\d (paused|debugging|held)/), "the run");
      const tab = page.locator(".part.panel .action-label", { hasText: "Terminal" });
      await window.click(tab, () => terminal.first().isVisible(), "the terminal is in front");
      await window.shot("run");
    });

    await test("the view Clusters names the run that has started the cluster", async () => {
      await window.waitFor(window.rowOf("Clusters", /local.*started by train\.py/), "its row");
      await window.shot("cluster-of-the-run");
    });

    await test("a breakpoint that is set during the run stops every worker", async () => {
      await window.toggleBreakpoint(line("return"), true);
      await window.toggleBreakpoint(line("loss"), false);
      await window.click(
        window.button("Continue"),
        () => window.isStoppedAt(line("return")),
        "it stopped at the new line",
      );
    });

    await test("a breakpoint on a line without code shows where workers stop instead", async () => {
      const hasNote = () =>
        page.evaluate(() =>
          [...document.querySelectorAll(".view-line span")].some((element) =>
            getComputedStyle(element, "::after").content.includes("moved to line"),
          ),
        );
      const click = () => window.clickGutter(line("nothing"));
      await window.gesture(click, hasNote, "the note says that it moved");
      await window.shot("moved");
      await window.command(
        "Remove All Breakpoints",
        async () => (await window.breakpointLines()).length === 0,
      );
    });

    const paneRow = (state) =>
      page.locator(
        `.pane-body .monaco-list-row[aria-label^="policy-"][aria-label*=", ${state}, at "]`,
      );

    await test("a click on the row of a worker that is being debugged shows its line again", async () => {
      await openFile("train.py");
      await window.openPanel();
      await window.settled(paneRow("debugging"));
      await window.click(
        paneRow("debugging").first().locator(".label-name"),
        () => window.isStoppedAt(line("return")),
        "its stopped line is shown",
      );
      await window.waitForNone(paneRow("debugging").nth(2), "another session");
      await window.waitForNone(window.notification(/debugged|attach/i), "a message");
    });

    await test("a key acts on the row with the focus, not on the one that was clicked", async () => {
      const list = page.locator(".pane-body .monaco-list:focus");
      const focused = (state) => list.locator(".focused").and(paneRow(state));
      await window.command("Eagleray: Focus on Paused Workers", () =>
        focused("debugging").first().isVisible(),
      );
      const rows = await window.rowOf("Paused", /^policy-/).allTextContents();
      const [first] = await window.worker("policy-0", "debugging").allTextContents();
      await window.key(
        rows[0] === first ? "ArrowDown" : "ArrowUp",
        () => focused("paused").first().isVisible(),
        "the focus is on the other worker",
      );
      await window.shot("focused-row");
      await window.key(
        "Control+Enter",
        async () => (await run(/learner\.py:/).count()) === 1,
        "the other worker resumes",
      );
      assert.equal(await window.isStoppedAt(line("return")), true);
    });

    await test("a worker resumes without breakpoints, and “Pause Worker” stops it where it is", async () => {
      await disconnect();
      await inline(
        run(/policy-\d.*running/),
        "Pause Worker",
        () => window.toolbar().isVisible(),
        "a session is open",
      );
      await window.waitFor(variables, "its variables");
      await window.shot("paused");
    });

    await test("Look Inside shows a running worker, and Pause really stops it there", async () => {
      await disconnect();
      await window.openPanel();
      await window.fromMenu(
        run(/policy-\d.*running/),
        "Look Inside",
        () => window.toolbar().isVisible(),
        "a session is open",
      );
      const callStack = page.locator(".debug-call-stack .monaco-list-row");
      const inside = callStack.filter({ hasText: /Looking inside/i });
      await window.waitFor(inside, "the worker that isn’t stopped");
      await window.waitFor(variables, "its variables");
      await window.click(
        window.button("Continue"),
        () => window.button("Pause").first().isVisible(),
        "it is shown as running",
      );
      await window.click(
        window.button("Pause"),
        async () =>
          (await callStack.filter({ hasText: "Paused on pause" }).first().isVisible()) &&
          (await inside.count()) === 0,
        "the debugger has stopped it",
      );
      await window.waitFor(variables, "its variables");
      await window.waitForNone(
        page.locator(".debug-variables .monaco-list-row", { hasText: "Canceled" }),
        "values of the session that has ended",
      );
      await window.shot("inside-then-paused");
    });

    await test("a closed output stops nothing, and a button reopens it", async () => {
      await disconnect();
      await window.command(
        "Terminal: Kill the Active Terminal Instance",
        async () => (await page.locator(".xterm").count()) === 0,
      );
      await inline(
        run(/train\.pyrunning/),
        "Show Output",
        () => terminal.first().isVisible(),
        "the output is open again",
      );
      await window.waitFor(terminal.getByText(/round \d+0/), "output that the program still runs");
      await window.shot("output");
    });

    await test("a breakpoint in a file that no worker loads is marked in the view", async () => {
      await openFile("evaluation.py");
      const score = lineOf(path.join(stage.workspace, "evaluation.py"), "score");
      await window.toggleBreakpoint(score, true);
      await window.openPanel();
      await window.waitFor(
        run(new RegExp(`evaluation\\.py:${score}.*not loaded`)),
        "the line’s row",
      );
      await window.shot("not-loaded");
    });

    await test("the key starts the program again with the current breakpoints and without a form", async () => {
      await openFile("learner.py");
      await window.toggleBreakpoint(line("return"), true);
      await window.openPanel();
      const [first] = programs();
      await window.gesture(
        () => page.keyboard.press("Control+Shift+F6"),
        () => programs().some((pid) => pid !== first),
        "the program runs again",
      );
      await window.waitForStopAt(line("return"));
      await window.openPanel();
      await window.waitFor(run(over), "the first run, which is over");
      await window.shot("again");
    });

    const inferenceServer = serverSteps(story);
    await inferenceServer.start();

    await test("a reload keeps the runs, and “Stop Run” ends the one that is still running", async () => {
      await page.reload({ waitUntil: "domcontentloaded" });
      await window.ready();
      await window.openPanel();
      await window.waitFor(
        run(/train\.py.*\d (paused|debugging|held)/),
        "the run that is still running",
      );
      await inline(
        run(/train\.py.*\d (paused|debugging|held)/),
        "Stop Run",
        async () => (await run(over).count()) === 2,
        "both runs are over",
      );
      await until(() => programs().length === 0, "no process of the program is left");
      // Its cluster goes with it, and leaves no error in any view.
      await window.waitForNone(window.rowOf("Clusters", /local/), "the cluster of the run");
      await window.waitForNone(window.row(/[Nn]ot responding|Nothing answers/), "an error");
      await window.shot("cancelled");
    });

    await inferenceServer.afterReload();

    /** Its output stays on the screen after its end, and comes back when it was closed. */
    async function staysOpen(name, printed, last) {
      const says = async () => {
        // Lines are wrapped anywhere.
        const text = (await terminal.allTextContents()).join("").replace(/\s/g, "");
        return printed.test(text) && last.test(text);
      };
      const show = (what) => inline(run(name), "Show Output", says, what);
      await show(`the output of ${name} and how it ended`);
      await window.command(
        "Terminal: Kill the Active Terminal Instance",
        async () => !(await says()),
        "the terminal is closed",
      );
      await show(`the output of ${name} once more`);
    }

    await test("the output of a cancelled run stays, and can be reopened", async () => {
      await staysOpen(
        /train\.py.*cancelled after/,
        /KeyboardInterrupt/,
        /train\.pywascancelledafter.*PressRtorun/,
      );
      await window.shot("output-cancelled");
    });

    await test("the output of a run that ended with 0 stays, and can be reopened", async () => {
      await openFile("evaluation.py");
      // The file is drawn before its breakpoint, and a command whose effect is there already isn't called.
      const hasBreakpoint = async () => (await window.breakpointLines()).length > 0;
      await until(hasBreakpoint, "the breakpoint of evaluation.py is shown");
      await window.command(
        "Remove All Breakpoints",
        async () => (await window.breakpointLines()).length === 0,
      );
      await window.click(
        title("Debug on Ray"),
        () =>
          terminal
            .getByText(/evaluation\.py exited with code 0/)
            .first()
            .isVisible(),
        "the end of the run",
      );
      await window.openPanel();
      await staysOpen(
        /evaluation\.py.*exited/,
        /score/,
        /exitedwithcode0after.*anyotherkeytoclose/,
      );
      await window.shot("output-0");
    });

    await test("the keyboard alone opens the options and starts a run that uses the server and stops at an exception", async () => {
      await openFile("failing.py");
      await window.command("Eagleray: Debug on Ray with Options", () => options.isOpen());
      // The page begins in its arguments.
      await until(() => options.hasFocus("Arguments"), "the focus is in the page");
      const tick = options.field("Break on uncaught exceptions");
      await options.tabTo(tick, "the tick");
      await window.key("Space", () => tick.isChecked(), "it is on");
      await window.key(
        "Control+Enter",
        async () => (await run(/failing\.py/).count()) > 0,
        "the run is listed",
      );
      await window.waitForStopAt(lineOf(path.join(stage.workspace, "failing.py"), "fails"));
      const started = programs("failing.py");
      assert.deepEqual(
        started.map(inferenceServer.isUsedBy),
        started.map(() => true),
      );
      assert.ok(started.length > 0);
      const exception = page.locator(".exception-widget");
      await window.waitFor(exception.getByText(/ZeroDivisionError/), "the exception");
      await window.waitFor(variables.filter({ hasText: "steps" }), "the variable steps");
      await window.shot("failure");
      await picture(window, "failure", { x: 350, y: 34, width: 850, height: 258 });
      await window.click(
        window.button("Continue"),
        async () => !(await window.toolbar().isVisible()),
        "the session is closed",
      );
      await window.openPanel();
      await window.waitFor(
        run(/failing\.py.*ZeroDivisionError: .* · \d\d:\d\d/),
        "why the run has failed",
      );
      const message = /failing\.py failed: ZeroDivisionError.*\(failing\.py:\d+\)/;
      await window.waitForMessage(message, "the message about the failed run");
      // Neither the end of its session nor its error has another one.
      assert.equal(await window.notification(/ZeroDivisionError|exited/).count(), 1);
      await window.shot("failed");
      await window.answerMessage(
        message,
        "Edit and Rerun…",
        () => options.isOpen(),
        "the button of the message opens the options of the run",
      );
      await window.waitFor(options.status("Ready to start"), "that it can start");
      assert.equal(await options.field("Break on uncaught exceptions").isChecked(), true);
      await window.shot("edit-and-rerun");
      await closeEditors();
      await window.clearMessages();
      await window.openPanel();
      await staysOpen(/failing\.py/, /ZeroDivisionError/, /failing\.pyfailedwithexitcode1after/);
      await window.shot("output-1");
    });

    await inferenceServer.end();

    await test("“Diagnose” of a failed run names its error, lists it as a problem, and opens its line", async () => {
      const shown = page
        .frameLocator("iframe.webview.ready >> visible=true")
        .frameLocator("#active-frame");
      const sentence = shown.locator("h1", { hasText: /ZeroDivisionError/ });
      await window.openPanel();
      await window.fromMenu(
        run(/failing\.py/).first(),
        "Diagnose",
        () => sentence.isVisible(),
        "the page names the error",
      );
      const problems = page.locator('[id="status.problems"] [aria-label*="Warnings: 1"]');
      await window.waitFor(problems, "the line in the list of problems");
      await window.shot("diagnosis");
      await assertAccessible(await frameOf(shown.locator("body")));
      await window.click(
        shown.locator("button.place").first(),
        () => tab("output.log").isVisible(),
        "the output is open",
      );
      await window.shot("diagnosis-line");
      await closeEditors();
      await window.waitForNone(problems, "the problem of the closed page");
    });

    await test("a click on an ended run shows its output", async () => {
      await window.click(
        run(/evaluation\.py.*exited/).locator(".label-name"),
        async () => {
          // The terminals behind it are hidden.
          const shown = await terminal.locator("visible=true").allTextContents();
          return /evaluation\.pyexitedwithcode0/.test(shown.join("").replace(/\s/g, ""));
        },
        "its output is in front",
      );
    });

    await test("“Open Output as Text” shows it in an editor, where a traceback leads to its file", async () => {
      await window.openPanel();
      await window.fromMenu(
        run(/failing\.py/),
        "Open Output as Text",
        () => tab(/failing\.py \d\d:\d\d\.log/).isVisible(),
        "the output is a document",
      );
      const link = page.locator(".view-line .detected-link", { hasText: "failing.py" });
      await window.waitFor(
        page.locator(".view-line", { hasText: "ZeroDivisionError" }),
        "the error",
      );
      await window.waitFor(link, "a link to the file");
      await window.shot("output-as-text");
      await window.gesture(
        () => followLink(link.last()),
        () => tab("failing.py").filter({ hasNotText: ".log" }).isVisible(),
        "the link opens the file",
      );
      await closeEditors();
    });

    await test("“Clear Ended Runs” empties the list after a question", async () => {
      await window.openPanel();
      const question = page.locator(".monaco-dialog-box", { hasText: "and their output" });
      await window.command("Eagleray: Clear Ended Runs", () => question.isVisible());
      await window.click(
        question.locator(".monaco-button", { hasText: "Remove" }),
        async () => (await run(/·/).count()) === 0,
        "no run is listed",
      );
      // The shell of the window stays.
      const terminals = page.locator(".part.panel .monaco-list-row", { hasText: ".py" });
      await window.waitForNone(terminals, "the terminal of each run");
      await window.shot("cleared");
    });

    await test("a run that prints nothing is announced with a picture of its stacks", async () => {
      await openFile("quiet.py");
      await window.command("Eagleray: Debug on Ray with Options", () => options.isOpen());
      await options.fill("Save all stacks after", "x");
      await window.waitFor(options.problem("Enter a valid number."), "the wrong minutes");
      await options.fill("Save all stacks after", "0.05");
      await window.waitFor(options.status("Ready to start"), "that it can start");
      await window.shot("watch-options");
      await window.click(
        options.button("Start"),
        async () => (await run(/quiet\.py/).count()) > 0,
        "the run is listed",
      );
      const message = /quiet\.py.*prints nothing:/;
      await window.waitFor(run(/quiet\.py.*Stuck\? Picture of \d\d:\d\d/), "the mark of its row");
      await window.waitForMessage(message, "the message about the silent run");
      await window.shot("stuck-run");
      await window.answerMessage(
        message,
        "Open Picture",
        () => tab(/Stuck\? quiet\.py/).isVisible(),
        "the picture is open",
      );
      const frame = page
        .frameLocator("iframe.webview.ready >> visible=true")
        .frameLocator("#active-frame");
      await window.waitFor(frame.getByText("wait_for_engine").first(), "its stack");
      await window.shot("stuck-picture");
      await closeEditors();
      await window.clearMessages();
      await inline(
        run(/quiet\.py/),
        "Stop Run",
        async () => (await run(/quiet\.py.*cancelled/).count()) === 1,
        "the run is over",
      );
    });

    await liveProblem(story);
  },
  { stage: async () => withPictures(await setStageWithoutCluster()), driver: false },
);
