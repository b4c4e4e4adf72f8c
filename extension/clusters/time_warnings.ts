/** Warns once per job that its time limit is near while a worker is paused. */

import * as vscode from "vscode";

import type { App } from "../app";
import type { Disposable } from "../common/disposables";
import { plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import type { Cluster, Clusters } from "./messages";

/** Remembers which jobs were warned of; one per window. */
class TimeWarner {
  private readonly warned = new Set<string>();

  /** The warnings to show now.  A job that was requeued gets a new limit and so a new warning. */
  next({ clusters }: Clusters): readonly string[] {
    return clusters.flatMap((cluster) => {
      const key = `${cluster.id} ${cluster.job}`;
      if (cluster.time_warning === "") {
        this.forgetIfRenewed(key, cluster);
        return [];
      }
      if (this.warned.has(key)) {
        return [];
      }
      this.warned.add(key);
      return [plain(cluster.time_warning, 300)];
    });
  }

  private forgetIfRenewed(key: string, { time_left_s }: Cluster): void {
    if (time_left_s !== null && time_left_s > RENEWED_S) {
      this.warned.delete(key);
    }
  }
}

/** More time than any warning speaks of. */
const RENEWED_S = 3_600;

export function timeWarnings(app: App): Disposable {
  const warner = new TimeWarner();
  return app.clusters.onChanged((clusters) => {
    for (const sentence of warner.next(clusters)) {
      void warn(sentence);
    }
  });
}

async function warn(sentence: string): Promise<void> {
  const show = vscode.l10n.t("Show Paused");
  if ((await vscode.window.showWarningMessage(sentence, show)) === show) {
    await vscode.commands.executeCommand(COMMANDS.showPanel);
  }
}
