/** A stage without a cluster: the program in the workspace starts a Ray of its own. */

import * as fs from "node:fs";
import * as path from "node:path";
import { endMarked } from "./processes.mjs";
import { python, ROOT } from "./ray.mjs";

/** `{ workspace, home, env, settings, stop() }`, as the stage with a cluster; `stop()` ends every process. */
export async function setStageWithoutCluster() {
  const base = fs.mkdtempSync(path.join("/tmp", "er-vs-"));
  const workspace = path.join(base, "my project ñ 中");
  const home = path.join(base, "h");
  const temp = path.join(base, "r");
  fs.cpSync(path.join(ROOT, "tests", "vscode", "own_ray"), workspace, {
    recursive: true,
    filter: (file) => !file.includes("__pycache__"),
  });
  for (const folder of [home, temp]) fs.mkdirSync(folder, { mode: 0o700 });
  return {
    base,
    workspace,
    home,
    env: {
      EAGLERAY_HOME: home,
      EAGLERAY_DISCOVERY: "off",
      RAY_ADDRESS: "",
      RAY_API_SERVER_ADDRESS: "",
      RAY_AUTH_MODE: "disabled",
      RAY_TMPDIR: temp,
      RAY_USAGE_STATS_ENABLED: "0",
      // As of an editor that was started in a terminal with an active environment; programs are run with it.
      VIRTUAL_ENV: path.dirname(path.dirname(python())),
    },
    settings: {
      "eagleray.python": python(),
      // Drawn by the graphics card, the text of a terminal would not be in the page.
      "terminal.integrated.gpuAcceleration": "off",
    },
    stop: async () => {
      endMarked("EAGLERAY_HOME", home);
      fs.rmSync(base, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
}
