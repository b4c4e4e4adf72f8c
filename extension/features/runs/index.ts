/** Runs: programs that are started ready to debug, and what becomes of them. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { DEBUG_TYPE } from "../../contributions";
import type { Parts } from "../../parts";
import { RunCommands } from "./commands";
import { Guided } from "./guided";
import { Gutter } from "./gutter";
import { Launch } from "./launch";
import { Output } from "./output";
import { Review } from "./review";
import { Standing } from "./standing";
import { Starting } from "./starting";
import { Stops } from "./stops";
import { RunsStore } from "./store";
import { runsView } from "./view";

export function register(parts: Parts): Disposable[] {
  const store = new RunsStore(parts);
  const output = new Output(parts);
  const starting = new Starting(parts, store, output);
  const review = new Review();
  const standing = new Standing();
  const stops = new Stops(parts, store, starting, standing);
  const guided = new Guided(parts, starting, review);
  const launch = new Launch(parts, starting, guided);
  return [
    store,
    output,
    review,
    standing,
    stops,
    new Gutter(parts, store),
    runsView(parts, store),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, launch),
    ...new RunCommands(parts, store, starting, stops, output, guided).register(),
  ];
}
