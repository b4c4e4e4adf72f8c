/** Rollouts: agents, the pages of trajectories and of compared engines, and saved batches. */

import * as vscode from "vscode";

import type { App } from "../app";
import { lazily, registerCommands } from "../commands";
import type { Disposable } from "../common/disposables";
import { TextDocuments } from "../text_documents";
import { COMMANDS, PANELS } from "../contributions";
import { restoreTabs } from "../page/restored_tabs";
import { ifTrusted } from "../workspace";
import type { RunsFeature } from "../runs";
import type { WaveActions } from "./wave_panel";

/** A file without such a line has no agent. */
const METHOD = /^[ \t]+async[ \t]+def[ \t]+(?:run|arun_episode)\b/m;

export function register(app: App, { starting }: Pick<RunsFeature, "starting">): Disposable[] {
  const documents = new TextDocuments(
    "eagleray-batch",
    vscode.l10n.t("Read the batch again: “Replay Batch…”."),
  );
  const lensesChanged = new vscode.EventEmitter<void>();
  const drawLenses = (): void => {
    lensesChanged.fire();
  };
  const agents = lazily(async () => {
    const { AgentCommands } = await import("./agent_commands.js");
    const openTrace: WaveActions["openTrace"] = async (path, item, title) => {
      (await trajectories()).show(path, item, title);
    };
    return new AgentCommands(app, starting, openTrace, drawLenses);
  });
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
    lensesChanged,
    // Drawn again when the sidecar has started.
    app.sidecar.onStarted(drawLenses),
    restoreTabs(app, PANELS.trajectories, "restoring trajectories", trajectories),
    restoreTabs(app, PANELS.comparison, "restoring a comparison", comparisons),
    agentLenses(app, lensesChanged.event),
    ...registerCommands(app, agents, [
      [COMMANDS.debugAgent, "debugging an agent", (to, _, args) => ifTrusted(() => to.debug(args))],
      [COMMANDS.runAgentWave, "running a wave", (to, _, args) => ifTrusted(() => to.wave(args))],
      [
        COMMANDS.runIntegrationTest,
        "starting an integration test",
        (to, _, args) => ifTrusted(() => to.integrate(args)),
      ],
    ]),
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

function agentLenses(app: App, onDidChangeCodeLenses: vscode.Event<void>): Disposable {
  const lenses = lazily(async () => {
    const { AgentLenses } = await import("./agent_lenses.js");
    return new AgentLenses(app);
  });
  return vscode.languages.registerCodeLensProvider(
    { language: "python", scheme: "file" },
    {
      onDidChangeCodeLenses,
      provideCodeLenses: async (document, cancel) =>
        METHOD.test(document.getText()) ? (await lenses()).of(document, cancel) : [],
    },
  );
}
