/** Runs a story in the window of the editor: stage, server, browser, driver, and tests that build on one another. */

import { launch, openPage } from "./browser.mjs";
import { endAll, endWithRun } from "./cleanup.mjs";
import { ROOT, startDriver } from "./ray.mjs";
import { options, Results } from "./results.mjs";
import { start } from "./server.mjs";
import { setStage, shotsFolder } from "./stage.mjs";
import { within } from "./until.mjs";
import { Window } from "./window.mjs";

/** Each wait of a test has its own limit; this ends a test that hangs elsewhere. */
const TEST_MS = 10 * 60_000;

/**
 * Runs `story({ stage, server, browser, window, driver, test })` and ends the process.  The tests of a
 * story build on one another, so the first failure ends it.  `driver: false` is for a story that starts
 * programs of its own; with `uploads` the workers run a copy of the workspace that Ray has uploaded.
 * `linked`: the extension is installed, since in development mode the editor doesn't restart a crashed extension host.
 * `stage` makes another stage than the usual one, and `server` has options for `start`.  `next(title, actors)` of the
 * story begins another one in a new window, with new workers.
 */
export async function browserRun(name, story, more = {}) {
  const { version, only } = options();
  const results = new Results();
  const shots = shotsFolder(version);
  let window;
  try {
    const stage = await (more.stage ?? setStage)(more);
    endWithRun(() => stage.stop());
    const server = await start({
      version,
      [more.linked ? "linkedDir" : "extensionDir"]: ROOT,
      folder: stage.workspace,
      settings: { ...stage.settings, ...more.settings },
      env: { ...stage.env, ...more.env },
      log: console.log,
      ...more.server,
    });
    endWithRun(() => server.stop());
    endWithRun(() => results.failures > 0 && console.log(server.logs()));
    let driver = more.driver === false ? undefined : await withActors(stage, more);
    const browser = await launch();
    endWithRun(() => browser.close());
    window = new Window(await openPage(browser, server.url()), shots, name);
    await window.ready();
    const test = async (title, work) => {
      const since = Date.now();
      try {
        await within(work(), TEST_MS, title);
      } catch (error) {
        results.failed(title, `${error.stack}\n${await failedWindows(browser, shots, name)}`);
        throw new Ended();
      }
      results.passed(title, Date.now() - since);
    };
    /** Another story on the same cluster and server: a window and workers that no story has used. */
    const next = async (title, actors) => {
      await driver.stop();
      await window.close();
      driver = await withActors(stage, { ...more, actors });
      const page = await openPage(browser, server.url());
      window = new Window(page, shots, title, window.gestures);
      await window.ready();
      return { ...first, window, driver };
    };
    const first = { version, only, stage, server, browser, window, driver, test, next };
    await story(first);
  } catch (error) {
    if (!(error instanceof Ended)) {
      await window?.shot("failed").catch(() => undefined);
      results.failed("the run itself", error.stack);
    }
  }
  window?.gestures.report(results);
  await endAll();
  results.end();
}

/** Keeps pictures of all open windows, and returns their texts. */
async function failedWindows(browser, shots, name) {
  const texts = [];
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const window = new Window(page, shots, name);
    window.shots = 90 + texts.length;
    await window.shot("failed").catch(() => undefined);
    texts.push(await window.visibleTexts());
  }
  return texts.join("\n");
}

async function withActors(stage, { actors = { p0: 0, p1: 1, p2: 2 }, uploads = false }) {
  const driver = await startDriver(
    stage.cluster,
    stage.workspace,
    ...(uploads ? [stage.workspace] : []),
  );
  await driver.actors(actors);
  return driver;
}

/** A test has failed and was reported; the tests after it build on it. */
class Ended extends Error {}
