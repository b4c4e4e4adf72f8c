/** Puts the question, if there is one, between the attach and the beginning of the session. */

import type * as vscode from "vscode";

import type { Parts } from "../../parts";
import type { Question } from "./question";
import { placeOf } from "./sessions";

/** Runs after the provider of the debugging feature, which fills in where the worker stands. */
export class MappingConfigurations implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly parts: Parts,
    private readonly question: Question,
  ) {}

  /** Without an answer the session begins all the same, with the worker's own text. */
  async resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration> {
    const place = placeOf(config);
    if (!place || config["local"] !== "" || place.path === "") {
      return config;
    }
    const local = await this.parts.errors.shown("finding the local file", () =>
      this.question.localFile(place),
    );
    return { ...config, local: local ?? "" };
  }
}
