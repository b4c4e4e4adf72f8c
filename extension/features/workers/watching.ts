/** Tells the sidecar how closely to watch: often while the person sees the panel, seldom otherwise. */

import type { Disposable } from "../../common/disposables";
import type { Parts } from "../../parts";
import { WATCH } from "./messages";

export function watching(parts: Parts): Disposable[] {
  const { sidecar, panel, log } = parts;
  const tell = async (): Promise<void> => {
    try {
      await sidecar.request(WATCH, { visible: panel.visible.value });
    } catch (error) {
      // How the sidecar does is shown by the status bar and the welcome texts.
      log.warn(`The sidecar was not told how closely to watch: ${String(error)}`);
    }
  };
  return [
    sidecar.onStarted(() => void tell()),
    panel.visible.onChanged((visible) => {
      if (sidecar.state.value === "ready") {
        void tell();
      } else if (visible) {
        // Its start tells it.
        void sidecar.start();
      }
    }),
  ];
}
