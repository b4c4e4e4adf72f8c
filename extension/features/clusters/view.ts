/** The view Clusters. */

import type { Disposable } from "../../common/disposables";
import type { ClustersRow } from "../../common/rows";
import { VIEWS } from "../../contributions";
import type { Parts } from "../../parts";
import { RowTree } from "../../tree_view";
import { clustersRows, clustersTexts } from "./model";

export function clustersView(parts: Parts): { tree: RowTree<ClustersRow>; owned: Disposable[] } {
  const tree = new RowTree<ClustersRow>(
    VIEWS.clusters,
    { children: (row) => clustersRows(parts.clusters.value, row), texts: clustersTexts },
    parts.selection,
  );
  const changes = parts.clusters.onChanged(() => {
    tree.redraw();
  });
  return { tree, owned: [tree, changes] };
}
