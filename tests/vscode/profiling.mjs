/**
 * The page of a report in a real VS Code, with mouse and keys, in a dark and in a light theme; and a run that is
 * recorded by a real nsys, gathered and read.
 *
 *     node tests/vscode/profiling.mjs [--vscode 1.139|1.105]
 */

import { execFileSync } from "node:child_process";
import { nsys } from "../../scripts/nsys.mjs";
import { setStageWithoutCluster } from "./harness/stage_without_cluster.mjs";
import { python, ROOT } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { reportPage } from "./profiling/page.mjs";
import { profiledRun } from "./profiling/recording.mjs";

async function setStageWithReports() {
  const stage = await setStageWithoutCluster();
  // Nsight Systems is only started where a screen is configured.
  Object.assign(stage.env, { DISPLAY: ":99" });
  // It is found nowhere else: this setting is for recordings and for reports.
  Object.assign(stage.settings, { "eagleray.profiling.nsys": nsys });
  const args = ["-m", "tests.profile.reports.page_report", stage.workspace];
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
