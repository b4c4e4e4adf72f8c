/** A run in the window of the editor: stage, server, browser, driver, and tests that build on one another. */

import { launch, openPage } from "./browser.mjs";
import { endAll, endWithRun } from "./ending.mjs";
import { ROOT, startDriver } from "./ray.mjs";
import { options, Results } from "./results.mjs";
import { start } from "./server.mjs";
import { setStage, shotsFolder } from "./stage.mjs";
import { Window } from "./window.mjs";

/**
 * Runs `story({ stage, server, browser, window, driver, test })` and ends the process.  The tests of a
 * story follow one another, so the first that fails ends it.  `driver: false` is for a story that starts
 * programs of its own; `stage` makes another stage than the usual one, and `server` is for `start`.
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
      extensionDir: ROOT,
      folder: stage.workspace,
      settings: { ...stage.settings, ...more.settings },
      env: { ...stage.env, ...more.env },
      say: console.log,
      ...more.server,
    });
    endWithRun(() => server.stop());
    endWithRun(() => results.failures > 0 && console.log(server.logs()));
    const driver = more.driver === false ? undefined : await withActors(stage, more.actors);
    const browser = await launch();
    endWithRun(() => browser.close());
    window = new Window(await openPage(browser, server.url()), shots, name);
    await window.ready();
    const test = async (title, work) => {
      const since = Date.now();
      try {
        await work();
      } catch (error) {
        await window.shot("failed").catch(() => undefined);
        results.failed(title, `${error.stack}\n${await window.seen()}`);
        throw new Ended();
      }
      results.passed(title, Date.now() - since);
    };
    await story({ version, only, stage, server, browser, window, driver, test });
  } catch (error) {
    if (!(error instanceof Ended)) {
      await window?.shot("failed").catch(() => undefined);
      results.failed("the run itself", error.stack);
    }
  }
  await endAll();
  results.end();
}

async function withActors(stage, actors = { p0: 0, p1: 1, p2: 2 }) {
  const driver = await startDriver(stage.cluster, stage.workspace);
  await driver.actors(actors);
  return driver;
}

/** A test has failed and was told; those after it stand on it. */
class Ended extends Error {}
