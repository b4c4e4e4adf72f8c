/** The module that the editor loads as `extensionTestsPath`: runs mocha and writes each result to a file. */

import * as fs from "node:fs";
import Mocha from "mocha";
import { closeCommon, test } from "./lab.mjs";
import { around } from "./around.mjs";
import { attaching } from "./attaching.mjs";
import { leaving } from "./leaving.mjs";
import { many } from "./many.mjs";
import { mapping } from "./mapping.mjs";

/** VS Code calls this in the extension host. */
export function run() {
  // A test that fails on a slow machine is made once more by itself; the reporter says so.  One that fails twice ends
  // the run: what follows would mostly wait in vain, too.
  const mocha = new Mocha({
    ui: "bdd",
    timeout: 120_000,
    retries: 1,
    bail: true,
    reporter: Reporter,
  });
  if (test.only) mocha.grep(new RegExp(test.only.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"));
  mocha.suite.emit("pre-require", globalThis, "", mocha);
  for (const suite of [around, attaching, many, leaving, mapping]) suite();
  after(closeCommon);
  return new Promise((resolve, reject) => {
    mocha.run((failures) => {
      tell({ ended: true });
      failures ? reject(new Error(`${failures} failed`)) : resolve();
    });
  });
}

function tell(event) {
  fs.appendFileSync(test.told, `${JSON.stringify(event)}\n`);
}

class Reporter {
  constructor(runner) {
    runner.on("pass", (one) => {
      tell({ passed: one.fullTitle(), ms: one.duration ?? 0, second: one.currentRetry() > 0 });
    });
    runner.on("retry", (one, error) =>
      tell({ said: `once more: ${one.fullTitle()}: ${error.message}` }),
    );
    runner.on("fail", (one, error) =>
      tell({ failed: one.fullTitle(), why: error.stack ?? String(error) }),
    );
  }
}
