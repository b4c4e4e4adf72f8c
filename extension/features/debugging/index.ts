/** Debugging: attaching to paused workers, and letting them go. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { DEBUG_TYPE } from "../../contributions";
import type { Parts } from "../../parts";
import { AdapterFactory } from "./adapter_factory";
import { Attacher } from "./attacher";
import { Automatic } from "./automatic";
import { registerCommands } from "./commands";
import { Configurations } from "./configurations";
import { Leaving } from "./leaving";
import { Losing } from "./losing";
import { Sessions } from "./sessions";

export function register(parts: Parts): Disposable[] {
  const factory = new AdapterFactory(parts.errors);
  const configurations = new Configurations(parts, factory);
  const attacher = new Attacher(parts);
  const sessions = new Sessions();
  const { Dynamic } = vscode.DebugConfigurationProviderTriggerKind;
  return [
    sessions,
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, factory),
    vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, new Leaving(parts)),
    vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, new Losing(parts)),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, configurations, Dynamic),
    ...registerCommands(parts, attacher, sessions),
    new Automatic(parts, attacher, sessions),
  ];
}
