/** Rollouts: the pages of trajectories and of compared engines, and saved batches. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS, PANELS } from "../../contributions";
import { ifTrusted } from "../../workspace";
import type { RunsFeature } from "../runs";
import { BatchDocuments } from "./batch_documents";

export function register(app: App, { starting }: Pick<RunsFeature, "starting">): Disposable[] {
  const documents = new BatchDocuments();
  const trajectories = lazily(async () => {
    const { TrajectoryCommands } = await import("./commands.js");
    return new TrajectoryCommands(app);
  });
  const comparisons = lazily(async () => {
    const { ComparisonCommands } = await import("./comparison_commands.js");
    return new ComparisonCommands(app);
  });
  const batches = lazily(async () => {
    const { BatchCommands } = await import("./batch_commands.js");
    return new BatchCommands(app, starting, documents);
  });
  return [
    documents,
    vscode.window.registerWebviewPanelSerializer(PANELS.trajectories, {
      deserializeWebviewPanel: async (panel, state: unknown) => {
        await app.errors.shown("restoring trajectories", async () => {
          (await trajectories()).revive(panel, state);
        });
      },
    }),
    vscode.window.registerWebviewPanelSerializer(PANELS.comparison, {
      deserializeWebviewPanel: async (panel, state: unknown) => {
        await app.errors.shown("restoring a comparison", async () => {
          (await comparisons()).revive(panel, state);
        });
      },
    }),
    ...registerCommands(app, trajectories, [
      [COMMANDS.openTrajectories, "opening trajectories", (to, _, args) => to.open(args[0])],
    ]),
    ...registerCommands(app, comparisons, [
      [COMMANDS.compareEngines, "comparing engines", (to) => to.compare()],
    ]),
    ...registerCommands(app, batches, [
      [COMMANDS.saveBatch, "saving a batch", (to, _, args) => ifTrusted(() => to.save(args[0]))],
      [
        COMMANDS.replayBatch,
        "replaying a batch",
        (to, _, args) => ifTrusted(() => to.replay(args[0])),
      ],
    ]),
  ];
}
