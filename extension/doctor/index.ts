/** The doctor: the first cause in the logs of a run, a file or a folder. */

import type { App } from "../app";
import { lazily, registerCommands } from "../commands";
import { Disposables, type Disposable } from "../common/disposables";
import { COMMANDS, PANELS } from "../contributions";
import { restoreTabs } from "../page/restored_tabs";
import { isOfThisWindow } from "../runs/run_list";
import { isLive } from "../runs/states";
import type { ProblemLists } from "./problem_list";

export function register(app: App): Disposable[] {
  const owned = new Disposables();
  const lists = lazily(async () => {
    const { ProblemLists } = await import("./problem_list.js");
    return owned.add(new ProblemLists());
  });
  const commands = lazily(async () => {
    const { DoctorCommands } = await import("./commands.js");
    return new DoctorCommands(app, await lists());
  });
  return [
    owned,
    liveProblems(app, lists),
    restoreTabs(app, PANELS.diagnosis, "restoring a diagnosis", commands),
    ...registerCommands(app, commands, [
      [COMMANDS.diagnose, "diagnosing", (to, rows, args) => to.diagnose(rows, args)],
    ]),
  ];
}

/** Follows the live runs of this window; read when there is one. */
function liveProblems(app: App, lists: () => Promise<ProblemLists>): Disposable {
  const opened_s = Date.now() / 1000;
  const owned = new Disposables();
  const problems = lazily(async () => {
    const { LiveProblems } = await import("./live_problems.js");
    return owned.add(new LiveProblems(app, await lists(), opened_s));
  });
  let isRead = false;
  owned.add(
    app.runs.onChanged(({ runs }) => {
      if (isRead || runs.some((run) => isLive(run) && isOfThisWindow(run))) {
        isRead = true;
        void problems().then((live) => {
          live.update(runs);
        });
      }
    }),
  );
  return owned;
}
