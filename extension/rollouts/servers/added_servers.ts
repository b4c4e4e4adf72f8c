/** Keeps the list of servers that were added by their address, for their rows. */

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { LIST } from "./messages";

/** A server that is ready is asked for its health as often by a supervisor. */
const INTERVAL_MS = 15_000;

/** Lists them after each start of the sidecar, and then as long as there are some and the panel is visible. */
export class AddedServers implements Disposable {
  private readonly listening: Disposable;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly app: App) {
    this.listening = app.sidecar.onStarted(() => {
      void this.updated();
    });
    this.timer = setInterval(() => {
      if (app.panel.visible.value && app.addedServers.value.length > 0) {
        void this.updated();
      }
    }, INTERVAL_MS);
  }

  dispose(): void {
    this.listening.dispose();
    clearInterval(this.timer);
  }

  /** A failure is only logged, since the user requested nothing. */
  async updated(): Promise<void> {
    try {
      const { servers } = await this.app.sidecar.request(LIST, {});
      this.app.addedServers.set(servers.filter(({ run }) => run === ""));
    } catch (error) {
      this.app.log.warn(`the servers could not be listed: ${String(error)}`);
    }
  }
}
