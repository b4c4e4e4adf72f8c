/** The module that the editor loads as `extensionTestsPath`: runs mocha and writes each result to a file. */

import * as fs from "node:fs";
import Mocha from "mocha";
import { test } from "./lab.mjs";
import { around } from "./around.mjs";
import { attaching } from "./attaching.mjs";
import { leaving } from "./leaving.mjs";
import { many } from "./many.mjs";
import { mapping } from "./mapping.mjs";

/** VS Code calls this in the extension host. */
export function run() {
  const mocha = new Mocha({ ui: "bdd", timeout: 120_000, reporter: Reporter });
  if (test.only) mocha.grep(new RegExp(test.only.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"));
  mocha.suite.emit("pre-require", globalThis, "", mocha);
  for (const suite of [around, attaching, many, leaving, mapping]) suite();
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
    runner.on("pass", (one) => tell({ passed: one.fullTitle(), ms: one.duration ?? 0 }));
    runner.on("fail", (one, error) =>
      tell({ failed: one.fullTitle(), why: error.stack ?? String(error) }),
    );
  }
}
