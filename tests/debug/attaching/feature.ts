/** The debugging feature with a fake editor and a fake sidecar, anew for each test. */

import { afterEach, beforeEach } from "node:test";

import { REFRESH as REFRESH_CLUSTERS } from "../../../extension/clusters/messages";
import { ATTACH, type Attachment } from "../../../extension/debug/attaching/messages";
import { CHANGED, REFRESH, type PausedWorker } from "../../../extension/debug/workers/messages";
import { fakeApp, settled, type FakeApp } from "../../fakes/app";
import { registerDebugging } from "../../fakes/registered";
import { debug, editor } from "../../fakes/vscode";
import { pausedWorker } from "../workers/samples";

export const CLUSTER = "http://c:1";

export function worker(id: string, more: Partial<PausedWorker> = {}): PausedWorker {
  const own = { cluster: CLUSTER, worker_id: id, name: `p-${id}`, node_id: "n" };
  return pausedWorker({ ...own, pid: 1, rank: null, waiting_s: 0, ...more });
}

export function attached(id: string): Attachment {
  const place = { path: "/r/x.py", line: 3, local: "/l/x.py" };
  return {
    socket: `/s/${id}`,
    cluster: CLUSTER,
    worker_id: id,
    name: `p-${id}`,
    rank: 0,
    ...place,
  };
}

/** The row of a worker in the tree. */
export function row(one: PausedWorker): object {
  return {
    row: "worker",
    worker: one,
    group: {
      row: "group",
      cluster: CLUSTER,
      title: "",
      workers: [one],
      post_mortem: false,
      waiting: "",
      sentence: "",
    },
  };
}

/** The feature of the test that runs; `show` has the sidecar tell of these workers. */
export class Feature {
  fakes: FakeApp = fakeApp();
  private registered: ReturnType<typeof registerDebugging> = [];

  constructor() {
    beforeEach(() => {
      this.begin();
    });
    afterEach(() => {
      for (const one of this.registered) {
        one.dispose();
      }
    });
  }

  async show(...workers: PausedWorker[]): Promise<void> {
    const held = workers.filter((one) => one.state === "held").length;
    const groups = [
      {
        cluster: CLUSTER,
        title: "Policy.train",
        workers,
        post_mortem: false,
        waiting: "",
        sentence: "",
      },
    ];
    this.fakes.sidecar.notify(CHANGED, {
      groups,
      stops: { paused: workers.length - held, held, debugging: 0 },
    });
    await settled();
  }

  private begin(): void {
    editor.reset();
    debug.reset();
    this.fakes = fakeApp();
    this.fakes.sidecar.on(ATTACH, (asked) => attached(asked.worker));
    this.fakes.sidecar.on(REFRESH_CLUSTERS, () => ({
      clusters: [],
      hints: [],
      jobs: [],
      hosts: [],
    }));
    this.fakes.sidecar.on(REFRESH, () => ({
      groups: [],
      stops: { paused: 0, held: 0, debugging: 0 },
    }));
    this.registered = registerDebugging(this.fakes.app);
  }
}
