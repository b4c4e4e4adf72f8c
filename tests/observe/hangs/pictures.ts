// Pictures as the sidecar sends them, for tests.
import type {
  FrameRow,
  Picture,
  RankRow,
  StackClass,
  VerdictRow,
} from "../../../extension/observe/hangs/messages";

export function frame(
  name: string,
  path: string,
  line: number,
  more: Partial<FrameRow> = {},
): FrameRow {
  return { function: name, path, line, hidden: false, users: true, ...more };
}

const WRAPPER = frame("_inject_tracing_into_class", "/s/ray/util/tracing/tracing_helper.py", 461, {
  hidden: true,
  users: false,
});
const FIT = frame("Trainer.fit", "/w/train.py", 40);
const LIBRARY = "/s/torch/distributed/distributed_c10d.py";

export function stack(changes: Partial<StackClass> = {}): StackClass {
  return {
    group: "world",
    ranks: "0,2",
    doing: "collective",
    thread: "MainThread",
    frames: [
      WRAPPER,
      FIT,
      frame("Trainer.reduce", "/w/train.py", 64),
      frame("wrapper", "/s/torch/distributed/c10d_logger.py", 83, { hidden: true, users: false }),
      frame("all_reduce", LIBRARY, 0, { users: false }),
    ],
    ...changes,
  };
}

/** The other class of the picture. */
export function gathering(changes: Partial<StackClass> = {}): StackClass {
  const all_gather = frame("all_gather", LIBRARY, 0, { users: false });
  const frames = [WRAPPER, FIT, frame("Trainer.gather", "/w/train.py", 61), all_gather];
  return stack({ ranks: "1,3", frames, ...changes });
}

export function process(rank: number, changes: Partial<RankRow> = {}): RankRow {
  return {
    group: "world",
    rank,
    role: "rank",
    pid: 4000 + rank,
    node: rank < 2 ? "node-1" : "node-2",
    doing: "collective",
    call: rank % 2 === 0 ? "all_reduce" : "all_gather",
    moves: false,
    cpu: 0.01,
    state: "S",
    collectives: [],
    gpus: [],
    ...changes,
  };
}

export function verdict(changes: Partial<VerdictRow> = {}): VerdictRow {
  return {
    kind: "collective-mismatch",
    culprits: "1,3",
    confidence: 0.9,
    sentence:
      "Ranks 1 and 3 wait in all_gather (train.py:61) while ranks 0 and 2 wait in all_reduce.",
    next_step: "Make all ranks call the same collectives in the same order.",
    group: "world",
    readings: [],
    ...changes,
  };
}

export function picture(changes: Partial<Picture> = {}): Picture {
  return {
    version: 1,
    taken_at: 1_790_000_000,
    verdict: verdict(),
    classes: [stack(), gathering()],
    ranks: [0, 1, 2, 3].map((rank) => process(rank)),
    coverage: {
      processes: 4,
      unseen: [],
      nodes: [],
      workers: "",
      main_only: [],
      resumed: [],
      samples: 3,
    },
    inside: [],
    native: [],
    threads: [],
    exits: [],
    ras: [],
    target: "",
    ...changes,
  };
}

/** A picture of `ranks` ranks that are scattered over `classes` different stacks. */
export function largePicture(ranks: number, classes: number): Picture {
  const numbers = Array.from({ length: ranks }, (_, rank) => rank);
  const byClass = Array.from({ length: classes }, (_, index) =>
    numbers.filter((rank) => (rank * 7919) % classes === index),
  );
  const common = Array.from({ length: 20 }, (_, depth) =>
    frame(`wrapper_${depth}`, "/s/ray/worker.py", depth, { hidden: depth % 2 === 0, users: false }),
  );
  return picture({
    classes: byClass.map((members, index) =>
      stack({
        ranks: members.join(","),
        frames: [
          ...common,
          frame("Trainer.fit", "/w/train.py", 40),
          frame(`stage_${index % 12}`, "/w/stages.py", index % 12),
          frame(`layer_${index}`, "/w/layers.py", index),
          ...Array.from({ length: 16 }, (_, depth) =>
            frame(`forward_${index}_${depth}`, "/s/torch/nn/modules/module.py", depth, {
              users: false,
            }),
          ),
          frame("all_reduce", LIBRARY, 0, { users: false }),
        ],
      }),
    ),
    ranks: numbers.map((rank) => process(rank, { node: `node-${Math.floor(rank / 8)}` })),
    coverage: {
      processes: ranks,
      unseen: [],
      nodes: [],
      workers: "",
      main_only: [],
      resumed: [],
      samples: 3,
    },
  });
}
