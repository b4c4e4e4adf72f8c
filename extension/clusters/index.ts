/** Clusters: the list of them, adding one, credentials, and questions of ssh. */

import type { App } from "../app";
import { lazily, registerCommands } from "../commands";
import { Disposables, type Disposable } from "../common/disposables";
import { Store, type Readable } from "../common/store";
import { COMMANDS } from "../contributions";
import { CredentialStore } from "./credentials";
import { QUESTION, QUESTION_OVER } from "./messages";
import type { SshQuestions } from "./ssh_questions";
import { timeWarnings } from "./time_warnings";

/** `connecting` are the addresses that are being connected. */
interface ClustersFeature {
  readonly owned: readonly Disposable[];
  readonly connecting: Readable<ReadonlySet<string>>;
}

export function register(app: App): ClustersFeature {
  const { context, sidecar, log } = app;
  const access = new CredentialStore(context.secrets, context.globalState, sidecar, (line) => {
    log.warn(line);
  });
  const connecting = new Store<ReadonlySet<string>>(new Set());
  const commands = lazily(async () => {
    const { ClusterCommands } = await import("./commands.js");
    return new ClusterCommands(app, access, connecting);
  });
  const owned = [
    sshQuestions(app),
    timeWarnings(app),
    sidecar.onStarted(() => void access.sendAll()),
    ...registerCommands(app, commands, [
      [COMMANDS.connectCluster, "adding a cluster", (to, _, [address]) => to.adding.add(address)],
      [COMMANDS.connectJob, "connecting to a job", (to, rows) => to.connectJob(rows)],
      [COMMANDS.addLoginNode, "looking for jobs", (to) => to.adding.addLoginNode(undefined)],
      [COMMANDS.removeLoginNode, "forgetting a host", (to, rows) => to.forgetHost(rows)],
      [COMMANDS.removeCluster, "removing a cluster", (to, rows) => to.remove(rows)],
      [COMMANDS.reconnect, "reconnecting", (to, rows) => to.reconnect(rows)],
      [COMMANDS.showSshLog, "showing a message", (to, rows) => to.showSshLog(rows)],
      [COMMANDS.setToken, "setting a token", (to, rows) => to.give("token", rows)],
      [COMMANDS.setHeaders, "setting headers", (to, rows) => to.give("headers", rows)],
      [COMMANDS.setCertificates, "setting certificates", (to, rows) => to.give("ca_file", rows)],
      [COMMANDS.openTerminal, "opening a terminal", (to, rows) => to.openTerminal(rows)],
      [COMMANDS.refresh, "refreshing", (to) => to.refresh()],
      [COMMANDS.copyFix, "copying", (to, rows) => to.copyNextStep(rows)],
      [COMMANDS.openDashboard, "opening the dashboard", (to, rows) => to.openDashboard(rows)],
      [COMMANDS.copyAddress, "copying the address", (to, rows) => to.copyAddress(rows)],
      [COMMANDS.renameCluster, "renaming a cluster", (to, rows) => to.rename(rows)],
    ]),
  ];
  return { owned, connecting };
}

/** Shows the questions of ssh in their order; the code for them is read with the first. */
function sshQuestions(app: App): Disposable {
  const { sidecar } = app;
  const owned = new Disposables();
  let questions: Promise<SshQuestions> | undefined;
  const closeAll = (): void =>
    void questions?.then((all) => {
      all.closeAll();
    });
  owned.add(
    sidecar.onNotification(QUESTION, (question) => {
      questions ??= import("./ssh_questions.js").then(({ SshQuestions }) => new SshQuestions(app));
      void questions.then((all) => {
        all.add(question);
      });
    }),
  );
  owned.add(
    sidecar.onNotification(QUESTION_OVER, ({ id }) => {
      void questions?.then((all) => {
        all.close(id);
      });
    }),
  );
  owned.add(
    sidecar.state.onChanged((state) => {
      if (state !== "ready") {
        closeAll();
      }
    }),
  );
  owned.add({ dispose: closeAll });
  return owned;
}
