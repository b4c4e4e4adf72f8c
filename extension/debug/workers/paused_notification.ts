/** The notification about the first paused workers of each Ray session. */

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { plain } from "../../common/texts";
import { COMMANDS } from "../../contributions";
import { setting } from "../../settings";
import type { Clusters } from "../../clusters/messages";
import type { PausedGroup, PausedWorker, Snapshot } from "./messages";
import { shortPlace, workerName } from "./names";
import type { WorkerRow } from "./rows";

/** The workers of a group reach their breakpoint() one after another: one notification covers all of them. */
const GATHER_MS = 1_000;

export function notifications(app: App): Disposable[] {
  const announcer = new Announcer();
  let timer: NodeJS.Timeout | undefined;
  const announce = (): void => {
    timer = undefined;
    const snapshot = without(app.paused.value, app.broughtUp.value);
    const announcement = announcer.next(snapshot, app.clusters.value);
    // With automatic attaching there is nothing to offer.
    if (announcement !== undefined && setting("autoAttach") === "off") {
      void offer(announcement);
    }
  };
  return [
    app.paused.onChanged(({ stops }) => {
      if (stops.paused > 0) {
        timer ??= setTimeout(announce, GATHER_MS);
      }
    }),
    {
      dispose: () => {
        clearTimeout(timer);
      },
    },
  ];
}

/** The list without workers that come to the front automatically. */
function without(snapshot: Snapshot, workers: ReadonlySet<string>): Snapshot {
  const groups = snapshot.groups.map((group) => ({
    ...group,
    workers: group.workers.filter((worker) => !workers.has(worker.worker_id)),
  }));
  return { ...snapshot, groups };
}

async function offer({ sentence, worker, group }: Announcement): Promise<void> {
  const attach = vscode.l10n.t("Attach");
  const show = vscode.l10n.t("Show Paused");
  const answer = await vscode.window.showInformationMessage(sentence, attach, show);
  if (answer === attach) {
    const row: WorkerRow = { row: "worker", worker, group: { row: "group", ...group } };
    await vscode.commands.executeCommand(COMMANDS.attach, row);
  } else if (answer === show) {
    await vscode.commands.executeCommand(COMMANDS.showPanel);
  }
}

interface Announcement {
  readonly sentence: string;
  /** The worker of the button "Attach". */
  readonly worker: PausedWorker;
  readonly group: PausedGroup;
}

/** Remembers which runs of which clusters were announced; one per window. */
class Announcer {
  private readonly announced = new Set<string>();

  /** The announcement to show now, if any; each is returned once. */
  next(snapshot: Snapshot, { clusters }: Clusters): Announcement | undefined {
    for (const group of snapshot.groups) {
      const worker = group.workers.find((worker) => worker.state === "paused");
      const cluster = clusters.find(({ id }) => id === group.cluster);
      if (worker === undefined || cluster === undefined) {
        continue;
      }
      const run = `${cluster.id} ${cluster.session}`;
      if (!this.announced.has(run)) {
        this.announced.add(run);
        return { sentence: sentence(group), worker, group };
      }
    }
    return undefined;
  }
}

/** One worker by its name, several by what they run. */
function sentence(group: PausedGroup): string {
  const waiting = group.workers.filter((worker) => worker.state === "paused");
  const [only] = waiting;
  const title = plain(group.title);
  const places = new Set(
    waiting.map(({ location }) => location && plain(shortPlace(location.path, location.line))),
  );
  const place = places.size === 1 ? ([...places][0] ?? "") : "";
  if (only !== undefined && waiting.length === 1) {
    const name = plain(workerName(only));
    return group.post_mortem
      ? vscode.l10n.t("{0} failed and is paused.", name)
      : vscode.l10n.t("{0} is paused at a breakpoint.", name);
  }
  return group.post_mortem
    ? vscode.l10n.t("{0} workers of {1} failed and are paused.", waiting.length, title)
    : place === ""
      ? vscode.l10n.t("{0}: {1} workers paused.", title, waiting.length)
      : vscode.l10n.t("{0}: {1} workers paused at {2}.", title, waiting.length, place);
}
