/** The view Paused, with its badge. */

import type { App } from "../../app";
import { Disposables, type Disposable } from "../../common/disposables";
import { VIEWS } from "../../contributions";
import { RowTree } from "../../tree_view";
import type { PausedView } from "./paused_rows";
import { pausedSummary, routeTrouble, waitingCounts } from "./paused_summary";
import type { PausedRow } from "./rows";

/** How often the waiting times are redrawn. */
const REDRAW_MS = 10_000;

export function pausedView(app: App): Disposable {
  const owned = new Disposables();
  let since = Date.now();
  const input = (): PausedView => ({
    snapshot: app.paused.value,
    clusters: app.clusters.value,
    age_s: (Date.now() - since) / 1000,
    now: Date.now(),
  });
  const tree = owned.add(
    new RowTree<PausedRow>(
      VIEWS.paused,
      async () => {
        const { pausedClick, pausedRows, pausedTexts } = await import("./paused_rows.js");
        return {
          children: (row) => pausedRows(input(), row),
          texts: (row) => pausedTexts(input(), row),
          click: pausedClick,
        };
      },
      app.selection,
    ),
  );
  app.panel.add(tree.view);
  owned.add(
    app.paused.onChanged((snapshot) => {
      since = Date.now();
      const waiting = snapshot.stops.paused + snapshot.stops.held;
      tree.view.message = routeTrouble(input());
      tree.view.description = pausedSummary(input());
      tree.view.badge =
        waiting === 0 ? undefined : { value: waiting, tooltip: waitingCounts(snapshot.stops) };
      tree.redraw();
    }),
  );
  owned.add(
    app.clusters.onChanged(() => {
      tree.view.message = routeTrouble(input());
      tree.view.description = pausedSummary(input());
      tree.redraw();
    }),
  );
  tree.redrawEvery(REDRAW_MS, () => app.paused.value.groups.length > 0);
  return owned;
}
