/** The module that the editor loads as `extensionTestsPath`: runs mocha and writes each result to a file. */

import * as fs from "node:fs";
import Mocha from "mocha";
import { closeCommon, test } from "./lab.mjs";
import { commandsAndLogs } from "./commands_and_logs.mjs";
import { attaching } from "./attaching.mjs";
import { disconnecting } from "./disconnecting.mjs";
import { severalWorkers } from "./several_workers.mjs";
import { mapping } from "./mapping.mjs";

/** VS Code calls this in the extension host. */
export function run() {
  // The first failure ends the run, since most tests after it would only wait until they time out.
  const mocha = new Mocha({
    ui: "bdd",
    timeout: 120_000,
    bail: true,
    reporter: Reporter,
  });
  if (test.only) mocha.grep(new RegExp(test.only.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"));
  mocha.suite.emit("pre-require", globalThis, "", mocha);
  for (const suite of [commandsAndLogs, attaching, severalWorkers, disconnecting, mapping]) suite();
  after(closeCommon);
  return new Promise((resolve, reject) => {
    mocha.run((failures) => {
      report({ ended: true });
      failures ? reject(new Error(`${failures} failed`)) : resolve();
    });
  });
}

function report(event) {
  fs.appendFileSync(test.events, `${JSON.stringify(event)}\n`);
}

class Reporter {
  constructor(runner) {
    runner.on("pass", (ended) => {
      report({ passed: ended.fullTitle(), ms: ended.duration ?? 0 });
    });
    runner.on("fail", (ended, error) =>
      report({ failed: ended.fullTitle(), reason: error.stack ?? String(error) }),
    );
  }
}
