/** The view Runs. */

import type { App } from "../../app";
import { Disposables, type Disposable } from "../../common/disposables";
import { COMMANDS, VIEWS } from "../../contributions";
import { RowTree } from "../../tree_view";
import { isLive, runsRows, runsTexts, type RunsRow, type RunsView } from "./rows";

/** How often the durations of runs are redrawn. */
const REDRAW_MS = 10_000;

export function runsView(app: App): Disposable {
  const { runs } = app;
  const owned = new Disposables();
  const input = (): RunsView => ({
    runs: runs.value,
    clusters: app.clusters.value,
    profiled: app.profiled.value,
    now_s: Date.now() / 1000,
  });
  const tree = owned.add(
    new RowTree<RunsRow>(
      VIEWS.runs,
      {
        children: (row) => runsRows(input(), row),
        texts: (row) => runsTexts(input(), row),
        click,
      },
      app.selection,
    ),
  );
  app.panel.add(tree.view);
  const redraw = (): void => {
    tree.redraw();
  };
  owned.add(runs.onChanged(redraw));
  owned.add(app.profiled.onChanged(redraw));
  tree.redrawEvery(REDRAW_MS, () => runs.value.runs.some(isLive));
  return owned;
}

function click(row: RunsRow): string | undefined {
  if (row.row === "runLine") {
    return COMMANDS.showRunLine;
  }
  return row.row === "runWorker" && row.worker.state === "stopped" ? COMMANDS.attach : undefined;
}
