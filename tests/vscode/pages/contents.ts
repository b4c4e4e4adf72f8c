/** The messages of the editor to its pages, for tests of them in a browser; bundled with the editor's double. */
import type { Diagnosis } from "../../../extension/doctor/messages";
import type { ToDiagnosisPage } from "../../../extension/doctor/page_messages";
import type { Picture } from "../../../extension/observe/hangs/messages";
import type { ShownPicture, ToPicturePage } from "../../../extension/observe/hangs/page_messages";
import type {
  ToValuePage,
  ValueChild,
  ValueRecord,
} from "../../../extension/observe/look_inside/value_messages";
import type { Proposal } from "../../../extension/runs/presets/messages";
import { formOf } from "../../../extension/runs/presets/options_drafts";
import type {
  PageFacts,
  PageFix,
  PagePreview,
  PageProblem,
  ToOptionsPage,
} from "../../../extension/runs/presets/options_messages";
import type { OptionsForm } from "../../../extension/runs/presets/options_model";
import type { ToComparisonPage } from "../../../extension/rollouts/comparison_messages";
import type { ToWavePage } from "../../../extension/rollouts/wave_messages";
import { NO_QUERY, type ToTrajectoryPage } from "../../../extension/rollouts/page_messages";
import { PLAIN } from "../../../extension/runs/draft";
import { cause, consequence, diagnosis, evidence } from "../../doctor/diagnoses";
import {
  gathering,
  largePicture,
  picture,
  process,
  stack,
  verdict,
} from "../../observe/hangs/pictures";
import { comparison } from "../../rollouts/comparing/comparisons";
import { group, item, page, row, statistics } from "../../rollouts/trajectories/items";
import { waveReport } from "../../rollouts/wave_report";
import { FOLDER, proposal, shortened } from "../../runs/samples";

export { pageDocument } from "../../../extension/page/document";

const FILE = `${FOLDER}/train.py`;
const FORM = formOf({ ...PLAIN, path: FILE, cwd: FOLDER });
const FACTS: PageFacts = {
  clusters: [{ id: "http://127.0.0.1:8265", name: "local (8265)" }],
  presets: [
    { name: "verl", title: "verl, shortened", isOwn: false },
    { name: "mine", title: "Two steps", isOwn: true },
  ],
  breakpoints: ["rollout.py:23", "policy.py:24"],
  classes: [
    { name: "trainer.PolicyWorker", running: 4, matched_by: "*Policy*" },
    { name: "trainer.RewardWorker", running: 0, matched_by: "" },
  ],
  python: "/home/me/project/.venv/bin/python",
  interpreter: { python: "", text: "3.11.7 · ray 2.60.0 ✓", state: "ok" },
  checks: { state: "unchecked", problems: 0, text: "" },
};

const FIX: PageFix = {
  differences: [
    { name: "NCCL_CUMEM_ENABLE", before: undefined, after: "0" },
    { name: "policy.train_micro_batch_size", before: "4", after: "1" },
  ],
  undo: { ...FORM, args: "policy.train_micro_batch_size=4" },
};
const FIXED = { ...FORM, args: "policy.train_micro_batch_size=1", env: "NCCL_CUMEM_ENABLE=0" };

interface OptionsState {
  readonly name: string;
  readonly messages: readonly ToOptionsPage[];
  /** Texts that are typed after the messages, by the ids of their fields. */
  readonly typed?: Readonly<Record<string, string>>;
}

/** As the sidecar describes a start: the folder, an argument a line, the environment. */
const COMMAND = [
  `# in ${FOLDER}`,
  ...["python", "    train.py", "    --steps", "    3", "", "# environment", "EAGLERAY_RUN=r1", ""],
].join("\n");

/** The states of the options page. */
export function optionsStates(): OptionsState[] {
  const plainRun = preview(proposal({ before: COMMAND, after: COMMAND }));
  const record = { ...FORM, record: true, recordWorkers: "*Policy*", trace: ["cuda", "nvtx"] };
  return [
    {
      name: "checking",
      messages: [{ ...content(FIXED, ["breakpoints"]), fix: FIX }],
    },
    {
      name: "ready",
      messages: [content(FORM, ["breakpoints"]), checked([], plainRun)],
    },
    {
      name: "without-breakpoints",
      messages: [
        {
          ...content(FORM, ["breakpoints", "shorten", "record"]),
          facts: {
            clusters: [],
            presets: [],
            breakpoints: [],
            classes: [],
            python: "",
            interpreter: { python: "", text: "3.12.1 · no ray", state: "warning" },
            checks: { state: "checked", problems: 2, text: "/dev/shm is too small for Ray." },
          },
        },
        checked([], plainRun),
      ],
    },
    {
      name: "problems",
      messages: [
        content({ ...FORM, cwd: "/nowhere" }, ["breakpoints"]),
        checked([], plainRun),
        checked(
          [
            { field: "cwd", text: "/nowhere: no such folder. Check the path.", blocks: true },
            { field: "python", text: "This Python has no Ray.", blocks: false },
            { field: "", text: "SLURM doesn't answer.", blocks: false },
          ],
          null,
        ),
      ],
      typed: { args: "--name 'open", env: "no variable", ranks: "x" },
    },
    {
      name: "short-test-run",
      messages: [
        content({ ...FORM, shorten: true }, ["shorten"]),
        checked([], preview(shortened())),
        { kind: "composed", rows: [["trainer.total_training_steps", "2"]] },
      ],
    },
    {
      name: "not-composed",
      messages: [
        content({ ...FORM, shorten: true }, ["shorten"]),
        checked([], { ...preview(shortened()), preset: "", framework: "", questions: [] }),
        { kind: "notComposed", reason: "hydra: Key 'x' is not in struct." },
      ],
    },
    {
      name: "profile",
      messages: [
        content(record, ["record", "breakpoints"]),
        checked([], { ...plainRun, nsys: "/opt/nvidia/nsys" }),
      ],
    },
    {
      name: "profile-problems",
      messages: [
        content({ ...record, recordWorkers: "", when: "steps", steps: "1" }, ["record"]),
        checked([], plainRun),
      ],
      typed: { steps: "x", nsys: "a b", nsysOptions: "what", recordRanks: "-" },
    },
    {
      name: "slurm",
      messages: [
        content({ ...FORM, file: `${FOLDER}/batch.sub`, path: `${FOLDER}/batch.sub` }, []),
        checked([], { ...plainRun, confirm: "sbatch --nodes=2 batch.sub" }),
      ],
    },
    {
      name: "starting",
      messages: [
        content(FORM, []),
        checked([], plainRun),
        { kind: "starting", isOn: true, question: "" },
        { kind: "announcement", sentence: "train.py was started." },
      ],
    },
    {
      name: "waiting",
      messages: [
        {
          ...content({ ...record, python: "/nowhere/python" }, ["record"]),
          facts: {
            ...FACTS,
            interpreter: {
              python: "/nowhere/python",
              text: "/nowhere/python was not found.",
              state: "error",
            },
          },
        },
        checked([], plainRun),
        { kind: "starting", isOn: true, question: "No nsys was found on this machine." },
      ],
    },
    { name: "untrusted", messages: [{ kind: "untrusted" }] },
  ];
}

interface PictureState {
  readonly name: string;
  readonly messages: readonly ToPicturePage[];
}

/** The states of the page of a picture. */
export function pictureStates(): PictureState[] {
  const reading = { culprits: "1", group: "world", next_step: "Look inside rank 1." };
  const drivers = [
    process(9, { group: "driver", role: "driver", pid: 9, node: "node-1", doing: "ray.get" }),
    process(8, { role: "data loader", pid: 8, doing: "kernel", call: "", state: "D" }),
  ];
  const unknown = picture({
    verdict: verdict({
      kind: "unknown",
      culprits: "",
      confidence: 0.4,
      sentence: "Why the program is stuck is not clear.",
      next_step: "",
      readings: [
        { ...reading, kind: "straggler", confidence: 0.45, sentence: "Rank 1 is in `load`." },
        { ...reading, kind: "transport", confidence: 0.3, sentence: "All ranks wait." },
      ],
    }),
    classes: [stack(), gathering(), stack({ group: "driver", ranks: "9", thread: "Thread-1" })],
    ranks: [...picture().ranks, ...drivers],
    coverage: {
      processes: 6,
      unseen: [4, 5, 6].map((rank) => ({ group: "world", rank, reason: "permission" })),
      nodes: [{ node: "node-3", reason: "timeout", detail: "" }],
      workers: "Policy.train",
      main_only: [],
      resumed: [],
      samples: 3,
    },
  });
  const loading = stack({ ranks: "0-3", doing: "", thread: "prefetch-0, prefetch-1" });
  const mismatch = picture({ threads: [loading] });
  const empty = picture({ classes: [], ranks: [], verdict: { ...unknown.verdict, readings: [] } });
  return [
    { name: "mismatch", messages: shownPicture({ picture: mismatch, canInspect: true }) },
    { name: "unknown", messages: shownPicture({ picture: unknown }) },
    {
      name: "changes",
      messages: [
        ...shownPicture({ canSampleAgain: false }),
        {
          kind: "changes",
          title: "stuck-2026-11-21-20-15-03.json",
          sentences: ["Ranks 1 and 3: fit (train.py:40) → gather (train.py:61) > all_gather"],
        },
        { kind: "announcement", sentence: "Copied as Markdown." },
      ],
    },
    {
      name: "sampling",
      messages: [...shownPicture(), { kind: "busy", isOn: true }],
    },
    { name: "empty", messages: shownPicture({ picture: empty }) },
    {
      name: "inside",
      messages: shownPicture({ picture: readInside(), canReadInside: false }),
    },
  ];
}

/** A picture whose processes have said more than their stacks. */
function readInside(): Picture {
  const counters = { group: "default_pg", started: 4, ended: 3, call: "all_reduce" };
  const [fit] = stack().frames.filter(({ users }) => users);
  const frames = fit === undefined ? [] : [fit];
  const text = "ValueError('shape of microbatch 3 does not fit')";
  return picture({
    ranks: [0, 1, 2, 3].map((rank) =>
      process(rank, {
        collectives: [counters],
        gpus: [{ number: rank, first: rank * 33, last: 99, memory_mib: 62_464 }],
      }),
    ),
    inside: [
      {
        ...{ group: "world", rank: 1, reason: "" },
        exceptions: [{ text, first: "", variable: "", frames }],
        awaits: [{ state: "waits", count: 9, names: ["Task-2"], frames, waits_for: "Future" }],
      },
      { group: "world", rank: 3, reason: "gil-held", exceptions: [], awaits: [] },
    ],
  });
}

interface WaveState {
  readonly name: string;
  readonly messages: readonly ToWavePage[];
}

/** The states of the page of a wave. */
export function waveStates(): WaveState[] {
  const title = "Solver, 64 × 8";
  const start: ToWavePage = { kind: "wave", title, from: "a.jsonl with vllm" };
  const shown = (isRunning: boolean): ToWavePage => ({
    kind: "progress",
    progress: waveReport().progress,
    isRunning,
  });
  const failed: ToWavePage = {
    kind: "failed",
    message: "No inference server is called `vllm`.",
    nextStep: "List them with `eagleray serve`.",
  };
  return [
    { name: "wave-running", messages: [start, shown(true)] },
    { name: "wave", messages: [start, shown(false), { kind: "report", report: waveReport() }] },
    { name: "wave-failed", messages: [start, failed] },
  ];
}

/** As many rows as the sidecar sends at once. */
const MOST_ITEMS = 200;

interface TrajectoryState {
  readonly name: string;
  readonly messages: readonly ToTrajectoryPage[];
}

function trajectoryStart(): ToTrajectoryPage {
  return {
    kind: "dump",
    path: "/home/me/rollout/12.jsonl",
    item: 0,
    name: "12.jsonl",
  };
}

function trajectoryRows(shown = page()): ToTrajectoryPage {
  return { kind: "rows", query: NO_QUERY, page: shown };
}

/** The states of the page of trajectories. */
export function trajectoryStates(): TrajectoryState[] {
  const start = trajectoryStart();
  const rows = trajectoryRows;
  const unfinished = [{ file: "12.jsonl", line: 341, text: "{" }];
  const raw = item({ raw: '{"task_id": 3, "prompt', turns: [], fields: [], cut: true });
  return [
    { name: "list", messages: [start, rows(), { kind: "statistics", statistics: statistics() }] },
    {
      name: "trajectory",
      messages: [start, rows(), { kind: "item", item: item() }, { kind: "group", group: group() }],
    },
    { name: "broken", messages: [start, rows(page({ unfinished })), { kind: "item", item: raw }] },
    { name: "nothing", messages: [start, rows(page({ rows: [], next: null }))] },
    {
      name: "failed",
      messages: [
        start,
        {
          kind: "failed",
          part: "list",
          message: "Can't read /home/me/rollout/12.jsonl: Permission denied.",
          nextStep: "Select a dump of trajectories, or its folder.",
        },
        { kind: "failed", part: "statistics", message: "", nextStep: "" },
      ],
    },
  ];
}

interface DiagnosisState {
  readonly name: string;
  readonly messages: readonly ToDiagnosisPage[];
}

/** The states of the page of a diagnosis. */
export function diagnosisStates(): DiagnosisState[] {
  const shown = (made: Diagnosis): ToDiagnosisPage => ({
    kind: "diagnosis",
    stored: {
      version: "1",
      name: "logs",
      target: { paths: ["/logs"] },
      madeAt: 1_795_224_007_000,
      diagnosis: made,
    },
    from: "logs · 11/21/2026, 1:20:07 AM",
  });
  const slow = cause({
    sentence: "The object store is in /tmp, since /dev/shm has 67 MB.",
    fix: "Start the container with `--shm-size=10g` or `--ipc=host`.",
    severity: "warning",
    settings: {},
    why: "",
    changes: [],
    command: "df -h /dev/shm",
  });
  const long = evidence({ path: `/logs/${"session_".repeat(20)}.log`, text: "x".repeat(400) });
  return [
    {
      name: "causes",
      messages: [
        shown(diagnosis({ causes: [cause(), slow, consequence()] })),
        { kind: "watching", isOn: false },
      ],
    },
    {
      name: "unknown",
      messages: [
        shown(
          diagnosis({
            sentence: "ValueError: no such layer",
            causes: [],
            unknown: [evidence({ line: 3, text: "ValueError: no such layer" }), long],
          }),
        ),
        { kind: "busy", isOn: true },
      ],
    },
    {
      name: "nothing",
      messages: [
        shown(
          diagnosis({
            sentence: "No errors in 38 files.",
            causes: [],
            unknown: [],
          }),
        ),
      ],
    },
  ];
}

interface ComparisonState {
  readonly name: string;
  readonly messages: readonly ToComparisonPage[];
}

/** The states of the page of a comparison. */
export function comparisonStates(): ComparisonState[] {
  const shown = (changes = {}): ToComparisonPage => ({
    kind: "comparison",
    comparison: comparison(changes),
    data: "prompts.jsonl",
    stored: undefined,
  });
  const nothing = {
    title: "Template mismatch",
    readings: [],
    metrics: null,
    rows: [],
    worst: [],
    notes: [],
    greedy: { sequences: 0, diverged: 0, near_ties: 0, agreement: 1, first: null },
  };
  return [
    { name: "differences", messages: [shown()] },
    { name: "prompts", messages: [shown(nothing)] },
    { name: "comparing", messages: [shown(), { kind: "busy", isOn: true }] },
  ];
}

/** The first screen of a large dump, for the bench. */
export function manyTrajectoryMessages(): readonly ToTrajectoryPage[] {
  const rows = Array.from({ length: MOST_ITEMS }, (_, item) => row(item + 1));
  return [trajectoryStart(), trajectoryRows(page({ rows, next: MOST_ITEMS }))];
}

/** A picture of 10,000 ranks in 300 classes, for the bench. */
export function largePictureMessages(): readonly ToPicturePage[] {
  return shownPicture({ picture: largePicture(10_000, 300), canInspect: true });
}

function shownPicture(changes: Partial<ShownPicture> = {}): ToPicturePage[] {
  const from = "local (8265) · 2026-11-21 20:15:03";
  const usual = {
    picture: picture(),
    from,
    stored: undefined,
    canSampleAgain: true,
    canReadInside: true,
    canInspect: false,
  };
  return [{ kind: "picture", ...usual, ...changes }];
}

function content(
  form: OptionsForm,
  open: readonly ("breakpoints" | "shorten" | "record")[],
): ToOptionsPage & { readonly kind: "content" } {
  return { kind: "content", form, open, facts: FACTS, fix: null };
}

function checked(problems: readonly PageProblem[], shown: PagePreview | null): ToOptionsPage {
  return { kind: "checked", number: 0, problems, preview: shown };
}

function preview(found: Proposal): PagePreview {
  const { before, after, changes, questions, preset, framework, framework_version } = found;
  return {
    before,
    after,
    changes,
    questions,
    preset,
    framework: `${framework} ${framework_version}`.trim(),
    confirm: found.confirm,
    nsys: "",
  };
}

interface ValueState {
  readonly name: string;
  readonly messages: readonly ToValuePage[];
}

/** The states of the page of a value. */
export function valueStates(): ValueState[] {
  const shown = (
    record: ValueRecord,
    more: { old?: string; isImage?: boolean } = {},
  ): ToValuePage => ({
    kind: "value",
    shown: {
      expression: "batch['advantages']",
      worker: "policy-3 (rank 3)",
      place: "policy.py:24",
      record,
      old: "",
      isImage: false,
      ...more,
    },
  });
  const cells = (rows: number, columns: number): (number | string)[][] =>
    Array.from({ length: rows }, (_, row) =>
      Array.from({ length: columns }, (_each, column) => {
        if ((row === 2 && column < 3) || (row === 9 && column === 7)) {
          return "nan";
        }
        if (row === 4 && column === 4) {
          return "-inf";
        }
        return Number((Math.sin(row / 3) * Math.cos(column / 2) * 1.5).toPrecision(7));
      }),
    );
  const place = { at: [1], row: 0, row_step: 1, column: 0, column_step: 1 };
  const statistics = {
    count: 131_072,
    of: 131_072,
    how: "all",
    nan: 4,
    inf: 1,
    zeros: 0,
    min: -1.49,
    max: 1.5,
    mean: 0.0124,
    std: 0.61,
    bins: Array.from({ length: 32 }, (_, at) =>
      Math.round(9000 * Math.exp(-(((at - 15) / 7) ** 2))),
    ),
  };
  const tensor: ValueRecord = {
    type: "Tensor",
    shape: [4, 512, 64],
    dtype: "bfloat16",
    device: "cuda:0",
    bytes: 262_144,
    statistics,
    grid: { ...place, rows: 50, columns: 20, cells: cells(50, 20) },
  };
  const sample = { ...statistics, of: 2 ** 31, count: 262_144, how: "spread" } as const;
  const child = (
    name: string,
    type: string,
    text: string,
    count = 0,
    is_array = false,
  ): ValueChild => ({
    name,
    type,
    text,
    reach: `['${name}']`,
    count,
    is_array,
  });
  const items: ValueRecord = {
    type: "dict",
    text: "{'ids': Tensor(shape=(8, 512), dtype=torch.int64, device=cuda:0), 'meta': {'step': 41}}",
    children: [
      child("'ids'", "Tensor", "Tensor(shape=(8, 512), dtype=torch.int64, device=cuda:0)", 0, true),
      child("'meta'", "dict", "{'step': 41}", 1),
      child("'loss'", "float", "0.4213"),
    ],
    left_out: 2,
  };
  return [
    { name: "value-tensor", messages: [shown(tensor)] },
    {
      name: "value-image",
      messages: [
        shown(
          { ...tensor, grid: { ...place, rows: 64, columns: 64, cells: cells(64, 64) } },
          { isImage: true },
        ),
      ],
    },
    {
      name: "value-sample-old",
      messages: [
        shown(
          { ...tensor, statistics: { ...sample, bins: [] } },
          { old: "The worker runs. This was the value at policy.py:24." },
        ),
      ],
    },
    {
      name: "value-hanging",
      messages: [
        shown({
          type: "Tensor",
          shape: [8, 1024],
          dtype: "float32",
          device: "cuda:0",
          bytes: 32_768,
          why: "cuda:0 gave no answer within 1 s: it may hang",
        }),
      ],
    },
    { name: "value-items", messages: [shown(items)] },
    {
      name: "value-dataframe",
      messages: [
        shown({
          type: "DataFrame",
          text: "<pandas.DataFrame>",
          shape: [300, 2],
          table: {
            row: 0,
            column: 0,
            counted: 300,
            columns: [
              { name: "'reward'", dtype: "float64", nulls: 3 },
              { name: "'prompt'", dtype: "str", nulls: 0 },
            ],
            index: ["0", "1", "2"],
            cells: [
              [0.5, "'2 + 2 ='"],
              ["nan", "'Name a prime'"],
              [1, "''"],
            ],
          },
        }),
      ],
    },
    {
      name: "value-refused",
      messages: [shown({ error: ".loss is a property, which runs code of Policy", refused: true })],
    },
  ];
}
