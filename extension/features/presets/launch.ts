/** Starts what a configuration of launch.json says; a preset is reviewed until it has been agreed to. */

import type { DebugConfiguration } from "vscode";

import type { Parts } from "../../parts";
import { setting } from "../../settings";
import { NO_PRESET } from "../runs/draft";
import { draftOfLaunch } from "../runs/launch_model";
import { untilOver } from "../runs/run_end";
import type { Starting } from "../runs/starting";
import { doPostDebugTask } from "./post_debug_task";
import { agreementOf } from "./review_model";
import type { Guided } from "./run_wizard";

/** Under this name the texts of what the person has agreed to are kept for the workspace. */
const AGREED = "runs.agreed";
/** More than a person has configurations. */
const KEPT = 50;

export async function launch(
  parts: Parts,
  starting: Starting,
  guided: Guided,
  folder: string,
  config: DebugConfiguration,
): Promise<void> {
  const { workspaceState } = parts.context;
  const draft = draftOfLaunch(
    { breakOnFailure: setting("runs.breakOnFailure"), ...config },
    folder,
  );
  const proposal = await starting.prepare(draft);
  const agreement = agreementOf(draft, proposal);
  const agreed = workspaceState.get<readonly string[]>(AGREED) ?? [];
  if (draft.preset === NO_PRESET || agreed.includes(agreement)) {
    doAfter(parts, config, await starting.start(proposal));
    return;
  }
  const started = await guided.reviewed("Run on Ray", draft);
  doAfter(parts, config, started?.id);
  // What was changed on the way is not what the configuration says the next time.
  if (started?.agreed === agreement) {
    await workspaceState.update(AGREED, [agreement, ...agreed].slice(0, KEPT));
  }
}

/** A window that is closed before the run is over does nothing more for it. */
function doAfter(parts: Parts, config: DebugConfiguration, id: string | undefined): void {
  const name: unknown = config["postDebugTask"];
  if (id !== undefined && typeof name === "string") {
    void parts.errors.shown("the task after a run", async () => {
      await parts.latestRuns();
      await untilOver(parts, id, undefined);
      await doPostDebugTask(name);
    });
  }
}
