/** The icons and texts of the states of runs and of their workers. */

import { l10n } from "vscode";

import { dotted } from "../common/texts";
import { COLORS } from "../contributions";
import { STATE_ICONS } from "../debug/workers/names";
import { countTexts } from "../clusters/worker_counts";
import type { Run, RunServer, RunWorkerStatus } from "./messages";

interface StateIcon {
  readonly icon: string;
  readonly color?: string;
}

const RUN_ICONS: Readonly<Record<Run["state"], StateIcon>> = {
  starting: { icon: "loading~spin" },
  running: { icon: "play-circle", color: COLORS.running },
  paused: STATE_ICONS.paused,
  stopping: { icon: "loading~spin" },
  exited: { icon: "pass", color: "disabledForeground" },
  failed: { icon: "error", color: "list.errorForeground" },
  cancelled: { icon: "circle-slash", color: "disabledForeground" },
  unwatched: { icon: "warning", color: "list.warningForeground" },
  unknown: { icon: "question", color: "list.warningForeground" },
};

const SERVER_ICONS: Readonly<Partial<Record<RunServer["state"], StateIcon>>> = {
  starting: { icon: "loading~spin" },
  ready: { icon: "server-process", color: COLORS.running },
  unhealthy: { icon: "warning", color: "list.warningForeground" },
};

export function runIcon({ state, server }: Run): StateIcon {
  const icon = server === null || state !== "running" ? undefined : SERVER_ICONS[server.state];
  return icon ?? RUN_ICONS[state];
}

export function workerIcon({ state }: RunWorkerStatus): StateIcon {
  return state === "starting" ? RUN_ICONS.starting : STATE_ICONS[state];
}

/** "running", "1 paused · 4 workers", "failed (exit 1)". */
export function runStateText(run: Run): string {
  return dotted(...runStateTexts(run));
}

/** The parts of the state, for a row that is spoken. */
export function runStateTexts(run: Run): readonly string[] {
  return run.state === "paused" ? countTexts(run.workers) : [phaseText(run)];
}

function phaseText(run: Run): string {
  switch (run.state) {
    case "starting":
      return l10n.t("starting");
    case "running":
      return run.server === null ? l10n.t("running") : serverStateText(run.server);
    case "paused":
      return l10n.t("paused");
    case "stopping":
      return l10n.t("stopping");
    case "exited":
      return l10n.t("exited");
    case "failed":
      return run.code === null ? l10n.t("failed") : l10n.t("failed (exit {0})", run.code);
    case "cancelled":
      return l10n.t("cancelled");
    case "unwatched":
      return l10n.t("state unknown");
    case "unknown":
      return l10n.t("exit code unknown");
  }
}

export function workerStateText({ state }: RunWorkerStatus): string {
  switch (state) {
    case "starting":
      return l10n.t("starting");
    case "running":
      return l10n.t("running");
    case "paused":
      return l10n.t("paused");
    case "debugging":
      return l10n.t("debugging");
    case "held":
      return l10n.t("held");
  }
}

/** How a run ended, for the last line of its output: "train.py failed with exit code 1 after 3 s." */
export function endingText({ name, state, code }: Run, took: string): string {
  switch (state) {
    case "failed":
      return code === null
        ? l10n.t("{0} failed after {1}.", name, took)
        : l10n.t("{0} failed with exit code {1} after {2}.", name, code, took);
    case "cancelled":
      return l10n.t("{0} was cancelled after {1}.", name, took);
    case "exited":
      return l10n.t("{0} exited with code {1} after {2}.", name, code ?? "?", took);
    default:
      return l10n.t("{0} ended after {1}. Its exit code is not known.", name, took);
  }
}

function serverStateText({ state }: RunServer): string {
  switch (state) {
    case "starting":
      return l10n.t("starting");
    case "ready":
      return l10n.t("ready");
    case "unhealthy":
      return l10n.t("unhealthy");
    default:
      return l10n.t("running");
  }
}
