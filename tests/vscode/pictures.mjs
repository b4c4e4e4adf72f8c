/**
 * Takes the pictures of the walkthrough and the film of the README again, from a real VS Code with the sample project.
 *
 *     npm run pictures [-- --only film]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { Film } from "./harness/film.mjs";
import { openFile as open } from "./harness/files.mjs";
import { ROOT } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { setStageWithoutCluster } from "./harness/stage_without_cluster.mjs";
import { firstRun, withPictures } from "./runs/first_run.mjs";

process.env.EAGLERAY_PICTURES = "1";
const FILM = path.join(ROOT, "media", "readme", "demo.gif");
const WINDOW = { width: 1260, height: 700 };
const FILM_WIDTH = 1000;
const SHORT_MS = 2000;
const LONG_MS = 3500;

await browserRun(
  "pictures",
  async (story) => {
    const { window, stage, only, test } = story;
    const { page } = window;
    if (only !== "film") await firstRun(story);
    const tab = (name) => page.locator(".tab.active", { hasText: name });
    const openFile = (name) =>
      open(window, stage.workspace, name, () => tab(name).first().isVisible());
    const runs = page.locator(".pane", { has: page.locator(".pane-header[aria-label^=Runs]") });
    const source = fs.readFileSync(path.join(stage.workspace, "policy.py"), "utf8").split("\n");
    const line = source.findIndex((text) => text.startsWith("        loss = ")) + 1;

    const variable = page.locator(".debug-variables .monaco-list-row", { hasText: "rewards" });

    await test("the film of the README is taken", async () => {
      await page.setViewportSize(WINDOW);
      window.moveMouseAway = () => page.mouse.move(700, WINDOW.height - 8);
      const film = new Film(page, FILM_WIDTH);
      await window.clearMessages();
      await openFile("policy.py");
      const number = page.locator(".margin-view-overlays .line-numbers", {
        hasText: new RegExp(`^${line}$`),
      });
      const box = await number.first().boundingBox();
      const gutter = { x: box.x - 8, y: box.y + box.height / 2 };
      await window.toggleBreakpoint(line, true);
      await film.frameAt("1. Set a breakpoint in the code of a worker", SHORT_MS, gutter);
      await openFile("train.py");
      const start = page
        .locator('.editor-actions .action-label[aria-label^="Debug on Ray ("]')
        .locator("visible=true");
      await film.frame("2. Select “Debug on Ray”: no change of your program", SHORT_MS, start);
      await window.click(start, () => window.toolbar().isVisible(), "a session is open");
      await window.waitForStopAt(line);
      await window.waitFor(variable, "the variables");
      await window.command(
        "View: Hide Panel",
        async () => !(await page.locator(".part.panel").isVisible()),
      );
      await window.clearMessages();
      await film.frame("3. The first worker pauses at your line, with its variables", LONG_MS);
      await window.openPanel();
      const last = window.worker("policy-3", "paused");
      await window.waitFor(last, "the last rank");
      await window.waitFor(window.worker("policy-0", ""), "the first rank");
      await window.clearMessages();
      await film.frame("4. Every paused rank is listed. Click rank 3", LONG_MS, last);
      await window.attach(
        last,
        () =>
          page
            .locator(".statusbar-item", { hasText: /policy-3 \(rank 3\) · / })
            .first()
            .isVisible(),
        "the session of rank 3",
      );
      await window.waitForStopAt(line);
      await window.waitFor(variable, "the variables of rank 3");
      await window.clearMessages();
      await film.frame("5. You are in rank 3: the status bar names it", LONG_MS);
      const over = window.button("Step Over");
      await window.click(over, () => window.isStoppedAt(line + 1), "it steps");
      await film.frame(
        "6. Step, evaluate, continue all: it is VS Code’s own debugger",
        LONG_MS,
        over,
      );
      await film.write(FILM);
      console.log(`${FILM}: ${fs.statSync(FILM).size} bytes`);
      await window.openPanel();
      await window.clickRowButton(
        runs.locator(".monaco-list-row", { hasText: /train\.py/ }),
        "Stop Run",
        () =>
          runs
            .locator(".monaco-list-row", { hasText: /cancelled/ })
            .first()
            .isVisible(),
        "the run is over",
      );
    });
  },
  { stage: pictureStage, driver: false, linked: true },
);

/** The sample project as a workspace, with four ranks. */
async function pictureStage() {
  const stage = withPictures(await setStageWithoutCluster());
  const workspace = path.join(stage.base, "rl_training");
  fs.cpSync(path.join(ROOT, "samples", "rl_training"), workspace, { recursive: true });
  const train = path.join(workspace, "train.py");
  const text = fs.readFileSync(train, "utf8");
  fs.writeFileSync(
    train,
    text.replace('"--workers", type=int, default=2', '"--workers", type=int, default=4'),
  );
  return { ...stage, workspace };
}
