/** Connects the job that the user has chosen. */

import * as vscode from "vscode";

import { COMMANDS } from "../../contributions";
import type { Cluster } from "../../clusters/messages";
import { ofCluster, type NamedTarget, type Sampled } from "./targets_model";

/** A job whose Ray isn't connected yet is connected first; undefined if that has failed, which was shown. */
export async function connected(chosen: Sampled): Promise<NamedTarget | undefined> {
  if (!("job" in chosen)) {
    return chosen;
  }
  const row = { row: "job", job: chosen.job, connecting: false };
  const cluster = await vscode.commands.executeCommand<Cluster | undefined>(
    COMMANDS.connectJob,
    row,
  );
  return cluster === undefined ? undefined : ofCluster(cluster);
}
