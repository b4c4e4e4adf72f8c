// The choices of "Connect to Cluster…", as values.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  addSections,
  hostSections,
  jobHostSections,
  type Choice,
  type Section,
} from "../../extension/clusters/choices";
import type { Choices } from "../../extension/clusters/messages";
import { job, problem } from "../debug/workers/samples";

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

test("running jobs with a live Ray come first, then pending ones, SSH hosts and SLURM", () => {
  const choices: Choices = {
    jobs: [
      job({ id: "11", name: "prepare", ray: "none", sentence: "no Ray found yet" }),
      job({
        id: "13",
        state: "pending",
        host: "",
        node_count: 1,
        sentence: "pending · Priority",
        reason: "Priority",
        ray: "unknown",
        time_left_s: null,
        starts_s: 7_100,
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
    "— Address",
    "> Enter address… |  | ",
    "— Running SLURM jobs",
    "> train | job 12 · login · 3 nodes · 1 h 20 m left | Ray 2.60.0",
    "> prepare | job 11 · login · 3 nodes · 1 h 20 m left | no Ray found yet",
    "— Pending SLURM jobs",
    "> train | job 13 · 1 node | pending · Priority · starts in about 2 h",
    "— SSH hosts",
    "> login | alice@10.0.0.1 | Its SLURM jobs are listed above",
    "> other |  | ",
    "— SLURM",
    "> other refused the key. |  | Select to show the log",
    "> Add SLURM login node… | through SSH | ",
  ]);
});

test("an empty list is explained once it is complete, and not when SLURM failed", () => {
  const polled = { ...NOTHING, polled_hosts: ["login"] };
  const empty = shown(addSections(polled, true, "")).join("\n");
  assert.match(empty, /· No hosts in ~\/\.ssh\/config[^]*· No SLURM jobs/);
  assert.doesNotMatch(shown(addSections(polled, false, "")).join("\n"), /No hosts|No SLURM/);
  const failed = { ...polled, problems: [problem("slurm-failed", "Can't reach SLURM.")] };
  assert.doesNotMatch(shown(addSections(failed, true, "")).join("\n"), /No SLURM jobs/);
});

test("SLURM trouble is not shown while an address is typed", () => {
  const failed = { ...NOTHING, problems: [problem("slurm-failed", "Can't reach SLURM.")] };
  const always = all(addSections(failed, true, "head:8265")).filter((one) => one.isAlwaysShown);
  assert.deepEqual(
    always.map(({ label }) => label),
    ["Connect to head:8265"],
  );
});

test("a valid address can be connected to, another one be edited", () => {
  const [first] = all(addSections(NOTHING, false, "head:8265"));
  assert.equal(first?.label, "Connect to head:8265");
  assert.deepEqual(first.action, {
    kind: "address",
    address: "head:8265",
    title: "Connecting to head:8265",
  });
  const [unfinished] = all(addSections(NOTHING, false, " head/path "));
  assert.equal(unfinished?.label, "Edit “head/path”…");
  assert.match(unfinished.detail, /^Enter a port/);
  assert.deepEqual(unfinished.action, { kind: "edit", typed: "head/path" });
  assert.equal(unfinished.isAlwaysShown, true);
});

test("a host without a port and Ray's other ports lead to the dashboard", () => {
  assert.deepEqual(shown(addSections(NOTHING, false, "gpu-1")).slice(1, 3), [
    "> Connect to gpu-1:8265 | Ray’s dashboard has port 8265. | ",
    "> Connect to ssh://gpu-1/8265 | Through SSH. | ",
  ]);
  const [first, second] = all(addSections(NOTHING, false, "head:6379"));
  assert.equal(first?.label, "Connect to head:8265");
  assert.equal(second?.label, "Connect to head:6379");
});

test("part of a listed name leads to its row, not to an address", () => {
  const hosts = { ...NOTHING, ssh_hosts: [{ name: "gpu-1", detail: "" }] };
  assert.equal(all(addSections(hosts, true, "gpu"))[0]?.label, "gpu-1");
});

test("a host leads to its dashboard, to what is typed there, and to its jobs", () => {
  assert.deepEqual(shown(hostSections("login", false, "")), [
    "— Through login",
    "> Connect to port 8265 | Ray's default port | ",
    "> Watch login for SLURM jobs |  | ",
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
    [{ kind: "loginNode", host: "other" }],
  );
  const [typed] = all(jobHostSections(hosts, "alice@third"));
  assert.deepEqual(typed?.action, { kind: "loginNode", host: "alice@third" });
  assert.match(all(jobHostSections(hosts, "-oX")).at(-1)?.label ?? "", /user@host/);
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
