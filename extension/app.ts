/** The services of the extension that every feature gets when it registers. */

import type { ExtensionContext, LogOutputChannel } from "vscode";

import type { Readable, Store } from "./common/store";
import type { ErrorMessages } from "./error_messages";
import type { Clusters } from "./clusters/messages";
import type { ListedServer } from "./rollouts/servers/messages";
import type { ProfiledRuns } from "./profile/recordings/messages";
import type { Run, StoredRuns } from "./runs/messages";
import type { Snapshot } from "./debug/workers/messages";
import type { Panel, Selection } from "./panel";
import type { Sidecar } from "./sidecar/sidecar";

/**
 * Built once in main.ts.  A feature is a folder whose index.ts has one function,
 * `register(app: App): Disposable[]`; what it returns ends with the extension.
 */
export interface App {
  readonly context: ExtensionContext;
  readonly log: LogOutputChannel;
  readonly sidecar: Sidecar;
  readonly errors: ErrorMessages;
  /** The newest lists that the sidecar sent. */
  readonly clusters: Readable<Clusters>;
  readonly paused: Readable<Snapshot>;
  readonly runs: Readable<StoredRuns>;
  readonly profiled: Readable<ProfiledRuns>;
  /** Workers whose stops come to the front without a notification, by their ids: workers of this window's runs. */
  readonly broughtUp: Store<ReadonlySet<string>>;
  /** Inference servers that were added by their address. */
  readonly addedServers: Store<readonly ListedServer[]>;
  /** The variables of the inference server that this window uses, its key among them; never to be stored. */
  readonly serverVariables: Store<Readonly<Record<string, string>>>;
  /** Refreshes the lists of clusters and paused workers; rejects with an error of the catalogue. */
  refresh(): Promise<void>;
  /** Refreshes the list of runs; rejects with an error of the catalogue. */
  latestRuns(): Promise<readonly Run[]>;
  /** Views register with it. */
  readonly panel: Panel;
  /** The selection of the view that was used last, for commands called by a key. */
  readonly selection: Selection;
}
