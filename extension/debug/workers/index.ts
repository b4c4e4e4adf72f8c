/** Workers: the paused ones, all of them, and their logs. */

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import type { Readable } from "../../common/store";
import { ClustersTree } from "./clusters_view";
import * as logs from "./logs";
import { WATCH } from "./messages";
import { notifications } from "./paused_notification";
import { pausedView } from "./paused_view";

/** `connecting` are the addresses of clusters that are being connected. */
export function register(app: App, connecting: Readable<ReadonlySet<string>>): Disposable[] {
  return [
    ...logs.register(app),
    pausedView(app),
    new ClustersTree(app, connecting),
    ...watchRate(app),
    ...notifications(app),
  ];
}

/** Has the sidecar query the clusters often while the panel is visible, and seldom otherwise. */
function watchRate(app: App): Disposable[] {
  const { sidecar, panel, log } = app;
  const send = async (): Promise<void> => {
    try {
      await sidecar.request(WATCH, { visible: panel.visible.value });
    } catch (error) {
      // The status bar and the welcome texts show the state of the sidecar.
      log.warn(`The sidecar was not told how closely to watch: ${String(error)}`);
    }
  };
  return [
    sidecar.onStarted(() => void send()),
    panel.visible.onChanged((visible) => {
      if (sidecar.state.value === "ready") {
        void send();
      } else if (visible) {
        // It is sent after the start.
        void sidecar.start();
      }
    }),
  ];
}
