/**
 * The page of a report in a real VS Code, with mouse and keys, in a dark and in a light theme; and a run that is
 * recorded by a real nsys, gathered and read.
 *
 *     node tests/vscode/profiling.mjs [--vscode 1.139|1.105]
 */

import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { nsys } from "../../scripts/nsys.mjs";
import { setStageWithoutCluster } from "./harness/stage_without_cluster.mjs";
import { python, ROOT } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { reportPage } from "./profiling/page.mjs";
import { profiledRun } from "./profiling/recording.mjs";

async function setStageWithReports() {
  const stage = await setStageWithoutCluster();
  // Workers read the first variable and the sidecar the second; the editor gives extensions a PATH of its own.
  Object.assign(stage.env, {
    CUDA_HOME: path.dirname(path.dirname(nsys)),
    EAGLERAY_NSYS: nsys,
    // Nsight Systems is only started where a screen is configured.
    DISPLAY: ":99",
  });
  const args = ["-m", "tests.reports.page_report", stage.workspace];
  execFileSync(python(), args, { cwd: ROOT });
  return stage;
}

await browserRun(
  "profiling",
  async (story) => {
    await reportPage(story);
    await profiledRun(story);
  },
  {
    stage: setStageWithReports,
    settings: { "workbench.colorTheme": "Default Dark Modern" },
    driver: false,
  },
);
