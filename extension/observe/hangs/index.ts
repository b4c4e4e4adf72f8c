/** Hangs: why a cluster or a run is stuck, as a picture of all its stacks. */

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS, PANELS } from "../../contributions";
import { restoreTabs } from "../../page/restored_tabs";

export function register(app: App): Disposable[] {
  const commands = lazily(async () => {
    const { StuckCommands } = await import("./commands.js");
    return new StuckCommands(app);
  });
  return [
    restoreTabs(app, PANELS.picture, "restoring a picture", commands),
    ...registerCommands(app, commands, [
      [COMMANDS.whyStuck, "sampling stacks", (to, rows) => to.whyStuck(rows)],
      [COMMANDS.openPicture, "opening a picture", (to, rows) => to.openPicture(rows)],
      [COMMANDS.openStacks, "reading stacks", (to) => to.openStacks()],
    ]),
  ];
}
