// Runs and proposals as the sidecar sends them, for tests.
import type { Run, BreakpointStatus, RunWorkerStatus } from "../../extension/runs/messages";
import type { Proposal } from "../../extension/runs/presets/messages";

export const FOLDER = "/w/project";

export function runWorker(changes: Partial<RunWorkerStatus> = {}): RunWorkerStatus {
  return {
    worker_id: "beef",
    pid: 7,
    kind: "worker",
    name: "policy-0",
    state: "running",
    files: [],
    rank: "",
    path: "",
    line: 0,
    python: "3.11.7",
    stop: 0,
    ...changes,
  };
}

export function runLine(changes: Partial<BreakpointStatus> = {}): BreakpointStatus {
  const where = { path: "/w/project/policy.py", line: 12 };
  return { ...where, state: "verified", moved_to: 0, workers: 1, reason: "", ...changes };
}

export function aRun(changes: Partial<Run> = {}): Run {
  return {
    id: "0123456789ab",
    name: "train.py",
    arguments: "--steps 3",
    kind: "program",
    state: "running",
    started: 1000,
    ended: 0,
    code: null,
    cluster: changes.workers === undefined ? "" : "http://c:1",
    command: "python train.py --steps 3",
    cwd: FOLDER,
    workspace: FOLDER,
    preset: "",
    workers: [],
    lines: [],
    note: "",
    reason: "",
    tail: "",
    output: "/h/runs/0123456789ab/output.log",
    python: "",
    can_restart: true,
    confirm_stop: "",
    picture: null,
    server: null,
    is_agent: false,
    ...changes,
  };
}

export function proposal(changes: Partial<Proposal> = {}): Proposal {
  return {
    plan: "p1",
    preset: "",
    name: "train.py",
    title: "train.py",
    before: "python train.py\n",
    after: "python train.py\n",
    changes: [],
    questions: [],
    framework: "",
    framework_version: "",
    text: [],
    presets: [],
    problems: [],
    confirm: "",
    ...changes,
  };
}

/** As a preset would have it. */
export function shortened(): Proposal {
  const preset = {
    name: "verl",
    title: "verl, shortened",
    framework: "verl",
    own: false,
    text: "{}",
  };
  return proposal({
    plan: "p2",
    preset: "verl",
    after: "python train.py trainer.total_training_steps=2\n",
    framework: "verl",
    framework_version: "0.5",
    presets: [preset],
    changes: [
      {
        request: "few steps",
        outcome: "will apply",
        where: "trainer.total_training_steps",
        why: "",
        setting: "trainer.total_training_steps = 2",
      },
      {
        request: "no trackers",
        outcome: "not changed",
        where: "",
        why: "no logger is named",
        setting: "",
      },
    ],
    text: ["It will stop after 2 steps.", "", "Will apply", "  few steps   total = 2"],
    questions: [
      { id: "steps", text: "Steps", detail: "How many", choices: [], value: "2" },
      { id: "save", text: "No checkpoint", detail: "", choices: ["on", "off"], value: "on" },
    ],
  });
}
