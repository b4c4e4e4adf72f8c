// What "Connect to Cluster…" offers, as values.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  addSections,
  hostSections,
  jobHostSections,
  type Choice,
  type Section,
} from "../../extension/features/clusters/choices";
import type { Choices } from "../../extension/features/clusters/messages";
import { job, problem } from "../workers/samples";

const NOTHING: Choices = { jobs: [], ssh_hosts: [], polled_hosts: [], problems: [] };

function shown(sections: readonly Section[]): string[] {
  return sections.flatMap(({ title, choices }) => [
    `— ${title}`,
    ...choices.map(
      ({ label, description, detail, action: chosen }) =>
        `${chosen === undefined ? "·" : ">"} ${label} | ${description} | ${detail}`,
    ),
  ]);
}

function all(sections: readonly Section[]): readonly Choice[] {
  return sections.flatMap(({ choices }) => choices);
}

test("running jobs with a live Ray stand first, then pending ones, hosts, and the way to others", () => {
  const choices: Choices = {
    jobs: [
      job({ id: "11", name: "prepare", ray: "none", sentence: "no Ray found in it yet" }),
      job({
        id: "13",
        state: "pending",
        host: "",
        node_count: 1,
        sentence: "waits",
        reason: "Priority",
        ray: "unknown",
        time_left_s: null,
        starts_s: 2_500,
      }),
      job(),
    ],
    ssh_hosts: [
      { name: "login", detail: "alice@10.0.0.1" },
      { name: "other", detail: "" },
    ],
    polled_hosts: ["login"],
    problems: [problem("ssh-refused", "other refused the key.", "ssh other")],
  };
  assert.deepEqual(shown(addSections(choices, true, "")), [
    "— Your running jobs",
    "> train | job 12 · login · 3 nodes · 1 h 20 m left | Ray 2.60.0",
    "> prepare | job 11 · login · 3 nodes · 1 h 20 m left | no Ray found in it yet",
    "— Your pending jobs",
    "> train | job 13 · 1 node | waits · Priority · starts in about 41 m",
    "— Hosts of your ssh config",
    "> login | alice@10.0.0.1 | Your jobs there are listed above",
    "> other |  | ",
    "— Elsewhere",
    "> Look for my jobs on another host… | through ssh | ",
    "— What could not be asked",
    "· other refused the key. |  | ssh other",
  ]);
});

test("what is empty says why, but not while it is still being asked", () => {
  const empty = shown(addSections(NOTHING, true, "")).join("\n");
  assert.match(empty, /· No SLURM job of yours was found .*\n[^]*· Your ssh config names no host/);
  assert.doesNotMatch(shown(addSections(NOTHING, false, "")).join("\n"), /·  ?No SLURM|names no/);
  const pending = addSections({ ...NOTHING, jobs: [job({ state: "pending" })] }, true, "");
  assert.match(shown(pending).join("\n"), /None of your jobs runs yet/);
});

test("a typed address is the first line as soon as it is one; before, a line says what is missing", () => {
  const [first] = all(addSections(NOTHING, false, "head:8265"));
  assert.equal(first?.label, "Connect to head:8265");
  assert.deepEqual(first.action, {
    kind: "address",
    address: "head:8265",
    title: "Connecting to head:8265",
  });
  const unfinished = all(addSections(NOTHING, false, "head"));
  assert.match(unfinished.at(-1)?.label ?? "", /^Write a port/);
  assert.equal(unfinished.at(-1)?.action, undefined);
  assert.equal(unfinished.at(-1)?.isAlwaysShown, true);
});

test("a host leads to its dashboard, to what is typed there, and to its jobs", () => {
  assert.deepEqual(shown(hostSections("login", false, "")), [
    "— Behind ssh login",
    "> Look for my jobs on login | SLURM | ",
    "> The dashboard at port 8265 of this host | Ray’s usual port | ",
  ]);
  const [typed, ...others] = all(hostSections("login", true, "node-1:8265"));
  assert.equal(
    typed?.action?.kind === "address" && typed.action.address,
    "ssh://login/node-1:8265",
  );
  assert.equal(others.length, 1);
  assert.match(all(hostSections("login", true, "node-1")).at(-1)?.label ?? "", /host:port/);
});

test("hosts that are looked at already are not offered again, and any other can be typed", () => {
  const ssh_hosts = [
    { name: "login", detail: "" },
    { name: "other", detail: "" },
  ];
  const hosts: Choices = { ...NOTHING, ssh_hosts, polled_hosts: ["login"] };
  assert.deepEqual(
    all(jobHostSections(hosts, "")).map((choice) => choice.action),
    [{ kind: "lookForJobs", host: "other" }],
  );
  const [typed] = all(jobHostSections(hosts, "alice@third"));
  assert.deepEqual(typed?.action, { kind: "lookForJobs", host: "alice@third" });
  assert.match(all(jobHostSections(hosts, "-oX")).at(-1)?.label ?? "", /as you would for ssh/);
});

test("names of jobs and hosts are only text", () => {
  const evil = "$(trash) [a](command:b)\n\u001b[31m";
  const choices: Choices = {
    jobs: [job({ name: evil, sentence: evil, host: evil, id: evil })],
    ssh_hosts: [{ name: evil, detail: evil }],
    polled_hosts: [],
    problems: [problem("x", evil, evil)],
  };
  const texts = all(addSections(choices, true, "")).flatMap(
    ({ label, description, detail, action: chosen }) => [
      label,
      description,
      detail,
      chosen?.kind === "address" ? chosen.title : "",
    ],
  );
  for (const text of texts) {
    assert.doesNotMatch(text, /\$\(|\]\(|[\n\u001b]/);
  }
});
