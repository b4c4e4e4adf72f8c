/** The view Clusters. */

import type { App } from "../../app";
import { Disposables, type Disposable } from "../../common/disposables";
import type { Readable } from "../../common/readable";
import { VIEWS } from "../../contributions";
import { RowTree } from "../../tree_view";
import { clustersRows, clustersTexts, type ClustersRow, type ClustersView } from "./rows";

/** How often the remaining time of jobs is redrawn. */
const REDRAW_MS = 20_000;

export function clustersView(app: App, connecting: Readable<ReadonlySet<string>>): Disposable {
  const owned = new Disposables();
  let since = Date.now();
  const input = (): ClustersView => ({
    clusters: app.clusters.value,
    connecting: connecting.value,
    age_s: (Date.now() - since) / 1000,
  });
  const tree = owned.add(
    new RowTree<ClustersRow>(
      VIEWS.clusters,
      {
        children: (row) => clustersRows(input(), row),
        texts: (row) => clustersTexts(input(), row),
      },
      app.selection,
    ),
  );
  app.panel.add(tree.view);
  owned.add(
    app.clusters.onChanged(() => {
      since = Date.now();
      tree.redraw();
    }),
  );
  owned.add(
    connecting.onChanged(() => {
      tree.redraw();
    }),
  );
  tree.redrawEvery(REDRAW_MS, () => {
    const { clusters, jobs } = app.clusters.value;
    return [...clusters, ...jobs].some(({ time_left_s }) => time_left_s !== null);
  });
  return owned;
}
