// Adding a cluster: chosen, typed or by a job's "+", with progress, cancelling and what it asks for.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { ADD, CHANGED, CHOICES, LOOK_AT, type Choices } from "../../extension/clusters/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registerClusters, registeredForEach } from "../fakes/registered";
import { editor, type FakeQuickPick } from "../fakes/vscode";
import { cluster, clustersOf, job } from "../debug/workers/samples";

const CHOICE: Choices = {
  jobs: [job()],
  ssh_hosts: [{ name: "login", detail: "" }],
  polled_hosts: [],
  problems: [],
};

let fake: FakeApp;

registeredForEach(registerClusters, (made) => {
  fake = made;
  editor.answersLists = false;
  fake.sidecar.on(CHOICES, () => CHOICE);
  fake.sidecar.on(ADD, ({ address }) => cluster({ id: address }));
});

/** The list that is open. */
function list(): FakeQuickPick {
  const open = editor.picks.filter((pick) => pick.open);
  assert.equal(open.length, 1);
  return open[0] ?? assert.fail();
}

function spinning(): string[] {
  const view = editor.views.get("eagleray.clusters");
  const rows = view?.provider.getChildren() ?? [];
  return rows.map((row) => view?.provider.getTreeItem(row).contextValue ?? "");
}

test("“Connect to Cluster…” is busy until all is there, and keeps the line that one stands on", async () => {
  const known = job({ id: "7", address: "slurm://7", name: "known" });
  const other = job({ id: "8", address: "slurm://8", name: "other" });
  fake.sidecar.notify(CHANGED, clustersOf([], { jobs: [other, known] }));
  let answer: (choices: Choices) => void = () => undefined;
  fake.sidecar.on(CHOICES, () => new Promise((resolve) => (answer = resolve)) as never);
  const added = editor.run("eagleray.connectCluster");
  await settled();
  assert.deepEqual([list().busy, list().lines[4]], [true, "known"]);
  list().activeItems = list().items.filter(({ label }) => label === "known");
  answer({ ...CHOICE, jobs: [job(), other, known] });
  await settled();
  assert.equal(list().busy, false);
  assert.deepEqual(
    list().activeItems.map(({ label }) => label),
    ["known"],
  );
  list().choose("known");
  await added;
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ address: "slurm://7" }]);
});

test("an address that is typed is connected to by Enter", async () => {
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().type(" ssh://login/8265 ");
  list().choose("Connect to ssh://login/8265");
  await added;
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ address: "ssh://login/8265" }]);
});

test("Enter right after typing takes what was typed", async () => {
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().enter(" ssh://login/8265 ");
  await added;
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ address: "ssh://login/8265" }]);
});

test("an address that isn't valid is edited in a box that says why", async () => {
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().type("head/path");
  list().choose("Edit “head/path”…");
  await settled();
  const [box] = editor.boxes;
  assert.equal(box?.value, "head/path");
  box.enter("head");
  assert.deepEqual(
    [box.open, /^Enter head:8265 or ssh:\/\/head\/8265\.$/.test(box.validationMessage ?? "")],
    [true, true],
  );
  box.enter("head:8265");
  assert.deepEqual([box.open, box.validationMessage], [false, undefined]);
  await added;
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ address: "head:8265" }]);
});

test("Escape ends the list, with the request for its choices", async () => {
  let cancelled = false;
  fake.sidecar.on(CHOICES, (_, { cancel }) => {
    cancel?.onCancellationRequested(() => (cancelled = true));
    return new Promise<Choices>(() => undefined) as unknown as Choices;
  });
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().hide();
  await added;
  assert.equal(cancelled, true);
  assert.deepEqual([fake.sidecar.sentTo(ADD), editor.asked], [[], []]);
});

test("an address that failed can be edited, or added anyway", async () => {
  fake.sidecar.on(ADD, ({ address, anyway }) => {
    if (anyway !== true) {
      throw new EaglerayError("cluster-unreachable", "Nothing answers.");
    }
    return cluster({ id: address });
  });
  const answers = ["Edit Address…", "Add Anyway"];
  editor.answer = ({ kind }) => (kind === "error" ? answers.shift() : undefined);
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().enter("host:8265");
  await added;
  await settled();
  const [box] = editor.boxes;
  assert.equal(box?.value, "host:8265");
  box.enter("other:8265");
  for (let step = 0; step < 5; step += 1) {
    await settled();
  }
  const [failed] = editor.asked;
  assert.deepEqual(failed?.buttons, ["Edit Address…", "Add Anyway", "Show Log"]);
  assert.deepEqual(fake.sidecar.sentTo(ADD), [
    { address: "host:8265" },
    { address: "other:8265" },
    { address: "other:8265", anyway: true },
  ]);
});

test("an error of ssh offers what ssh printed instead of printing it", async () => {
  const printed =
    "Bad configuration option: controlmastr\nterminating, 1 bad configuration options";
  fake.sidecar.on(ADD, () => {
    throw new EaglerayError(
      "ssh-bad-configuration",
      "ssh can't use your ssh config.",
      "Correct it.",
      "",
      printed,
    );
  });
  editor.answer = ({ kind }) => (kind === "error" ? "Show SSH Log" : undefined);
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().enter("ssh://login/8265");
  await added;
  await settled();
  const [failed, dialog] = editor.asked;
  assert.equal(failed?.text, "ssh can't use your ssh config. Correct it.");
  assert.deepEqual(failed.buttons, ["Edit Address…", "Add Anyway", "Show SSH Log"]);
  assert.equal(dialog?.text, "ssh can't use your ssh config.");
  assert.deepEqual(dialog.options, { modal: true, detail: printed });
  assert.match(fake.log.text, /controlmastr/);
});

test("SLURM trouble is one of the choices", async () => {
  fake.sidecar.on(CHOICES, () => {
    throw new EaglerayError("no-squeue", "squeue fails.", "Load the module.");
  });
  void editor.run("eagleray.connectCluster");
  await settled();
  assert.deepEqual(list().lines.slice(-2), ["squeue fails.", "Add SLURM login node…"]);
  list().hide();
});

test("a host is chosen, then a dashboard behind it", async () => {
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().choose("login");
  await settled();
  assert.equal(list().title, "Connect through login");
  list().type("node-1:8265");
  list().choose("Connect to node-1:8265");
  await added;
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ address: "ssh://login/node-1:8265" }]);
});

test("jobs are looked for on a host, and then stand among the choices", async () => {
  fake.sidecar.on(LOOK_AT, () => clustersOf([]));
  const added = editor.run("eagleray.connectCluster");
  await settled();
  list().choose("Add SLURM login node…");
  await settled();
  assert.equal(list().title, "Add a SLURM login node");
  list().type("alice@site");
  list().choose("Watch alice@site for SLURM jobs");
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(LOOK_AT), [{ host: "alice@site" }]);
  assert.equal(list().title, "Connect to a Ray cluster");
  list().choose("train");
  await added;
  assert.deepEqual(fake.sidecar.sentTo(ADD), [{ address: job().address }]);
});

test("“Add SLURM Login Node…” takes the host alone", async () => {
  const looked = editor.run("eagleray.addLoginNode");
  await settled();
  list().choose("login");
  await looked;
  assert.deepEqual(fake.sidecar.sentTo(LOOK_AT), [{ host: "login" }]);
});

test("“+” on a job connects once, its row turns meanwhile, and the progress can be cancelled", async () => {
  const row = { row: "job", job: job(), connecting: false };
  fake.sidecar.notify(CHANGED, clustersOf([], { jobs: [job()] }));
  fake.sidecar.on(ADD, (_, { cancel, onProgress }) => {
    onProgress?.({ message: "Waiting for job 12 (Priority), starts about 14:30" });
    return new Promise((_, reject) => {
      cancel?.onCancellationRequested(() => {
        reject(new EaglerayError("cancelled", "Cancelled."));
      });
    }) as never;
  });
  const both = [editor.run("eagleray.connectJob", row), editor.run("eagleray.connectJob", row)];
  await settled();
  assert.deepEqual(spinning(), ["job.connecting"]);
  const notification = await progress("Connecting to job 12 (train)");
  assert.deepEqual(notification.reports, ["Waiting for job 12 (Priority), starts about 14:30"]);
  assert.equal(notification.options.cancellable, true);
  notification.cancel();
  await Promise.all(both);
  assert.equal(fake.sidecar.sentTo(ADD).length, 1);
  assert.deepEqual([spinning(), editor.asked], [["job"], []]);
});

/** The progress of this title, which comes once the work has taken a moment. */
async function progress(title: string): Promise<(typeof editor.progresses)[number]> {
  for (;;) {
    const found = editor.progresses.find(({ options }) => options.title === title);
    if (found !== undefined) {
      return found;
    }
    await settled();
  }
}

test("a cluster that asks for a token is asked again with it, and it is kept for that cluster", async () => {
  editor.answer = ({ kind, options }) =>
    kind === "input" && options["password"] === true ? "s3cret" : undefined;
  fake.sidecar.on(ADD, ({ token }) => {
    if (token === undefined) {
      throw new EaglerayError("token-needed", "It asks for a token.");
    }
    return cluster({ id: "http://host:8265" });
  });
  await editor.run("eagleray.connectCluster", " host:8265 ");
  assert.deepEqual(fake.sidecar.sentTo(ADD), [
    { address: "host:8265" },
    { address: "host:8265", token: "s3cret" },
  ]);
  assert.deepEqual(
    [...fake.secrets.values],
    [["eagleray.credentials http://host:8265", '{"token":"s3cret","headers":{},"ca_file":""}']],
  );
});

test("a proxy’s header and a private authority are asked for in turn", async () => {
  editor.answer = ({ kind, options }) => {
    if (kind === "open") {
      return [{ fsPath: "/etc/ca.pem" }];
    }
    return kind === "pick" ? (options["items"] as unknown[])[0] : "X-Key: k1";
  };
  fake.sidecar.on(ADD, ({ headers, ca_file }) => {
    if (ca_file === undefined) {
      throw new EaglerayError("ca-needed", "Its certificate is not known here.");
    }
    if (headers === undefined) {
      throw new EaglerayError("proxy-refused", "Its proxy refuses.");
    }
    return cluster();
  });
  await editor.run("eagleray.connectCluster", "https://host/ray");
  assert.deepEqual(fake.sidecar.sentTo(ADD).at(-1), {
    address: "https://host/ray",
    ca_file: "/etc/ca.pem",
    headers: { "X-Key": "k1" },
  });
});

test("an address that does not work is said, with a way to the log, and nothing is kept", async () => {
  fake.sidecar.on(ADD, () => {
    throw new EaglerayError("not-ray", "That is not a Ray dashboard.", "Check the port.");
  });
  await editor.run("eagleray.connectCluster", "8265");
  const shown = editor.asked.find((asked) => asked.kind === "error");
  assert.deepEqual(
    [shown?.text, shown?.buttons],
    ["That is not a Ray dashboard. Check the port.", ["Show Log"]],
  );
  assert.match(fake.log.text, /adding a cluster: not-ray/);
  assert.equal(fake.secrets.values.size, 0);
});
