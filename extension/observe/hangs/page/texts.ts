/** The verdict, classes and processes of a picture as display text. */

import { l10n } from "../../../page/frame/l10n";
import { DOING, KINDS, REASONS, ROLES, STATES } from "./names";
import { singleLine } from "../../../page/frame/texts";
import type { FrameRow, Picture, RankRow, ReadingRow } from "../messages";

import { hasRank, joined, parsedRanks, ranksText, type Ranks } from "./rank_sets";
import type { Members } from "./stack_tree";

/** More parts of a set of ranks than these make a row hard to read. */
const MOST_PARTS = 8;

/** "Different collectives · very likely (90 %)". */
export function kindText({ kind, confidence }: ReadingRow): string {
  const name = KINDS[kind] ?? singleLine(kind);
  return kind === "unknown"
    ? name
    : l10n.t("{0} · {1} ({2} %)", name, confidenceWord(confidence), Math.round(100 * confidence));
}

function confidenceWord(confidence: number): string {
  if (confidence >= 0.85) {
    return l10n.t("very likely");
  }
  return confidence >= 0.7
    ? l10n.t("likely")
    : confidence >= 0.5
      ? l10n.t("no proof of a hang")
      : l10n.t("unlikely");
}

/** "Ranks 0-3: has ended", one for each reason and role, then the nodes without an answer. */
export function unseenTexts({ coverage, ranks: rows }: Picture): string[] {
  const { unseen, nodes, workers, main_only, resumed } = coverage;
  const roles = new Map(rows.map(({ group, rank, role }) => [`${rank} ${group}`, role]));
  const byReason = new Map<string, number[]>();
  const others = new Map<string, Map<string, number[]>>();
  if (main_only.length > 0) {
    byReason.set("main-only", [...main_only]);
  }
  if (resumed.length > 0) {
    byReason.set("resumed", [...resumed]);
  }
  for (const { group, reason, rank } of unseen) {
    // A rank without a process has no row.
    const role = roles.get(`${rank} ${group}`) ?? "rank";
    const listed = role === "rank" ? byReason : (others.get(role) ?? new Map<string, number[]>());
    if (role !== "rank") {
      others.set(role, listed);
    }
    listed.set(reason, [...(listed.get(reason) ?? []), rank]);
  }
  const reasonText = (reason: string): string => REASONS[reason] ?? singleLine(reason);
  return [
    ...(workers === "" ? [] : [l10n.t("Workers other than {0}", singleLine(workers))]),
    ...[...byReason].map(([reason, ranks]) =>
      ranks.length === 1
        ? l10n.t(
            "Rank {0}: {1}",
            shortRanks(joined(ranks.map((rank) => [rank, rank] as const))),
            reasonText(reason),
          )
        : l10n.t(
            "Ranks {0}: {1}",
            shortRanks(joined(ranks.map((rank) => [rank, rank] as const))),
            reasonText(reason),
          ),
    ),
    ...[...others].flatMap(([role, byReasonOfRole]) =>
      [...byReasonOfRole].map(([reason, pids]) => {
        const numbers = shortRanks(joined(pids.map((pid) => [pid, pid] as const)));
        return `${singleLine(role)} ${numbers}: ${reasonText(reason)}`;
      }),
    ),
    ...nodes.map(({ node, reason, detail }) =>
      l10n.t("Node {0}: {1}", singleLine(node), singleLine(detail) || reasonText(reason)),
    ),
  ];
}

/** The verdicts to which answers from inside add something, and what that is. */
const INSIDE: Readonly<Record<string, "readExceptions" | "readTasks" | "readCounters">> = {
  "cleanup-deadlock": "readExceptions",
  "exception-in-flight": "readExceptions",
  asyncio: "readTasks",
  "wait-chain": "readTasks",
  straggler: "readCounters",
  transport: "readCounters",
  "collective-mismatch": "readCounters",
  "wrong-process-group": "readCounters",
};

/**
 * The kind of answers from inside that would add to a picture; for an unknown hang without a collective these are
 * tasks.
 */
export function readInsideText({ verdict, ranks }: Picture): (typeof INSIDE)[string] | undefined {
  if (verdict.kind === "unknown") {
    return ranks.some(({ doing }) => doing === "collective") ? "readCounters" : "readTasks";
  }
  return INSIDE[verdict.kind];
}

function tasksText(state: string, name: string, count: number): string {
  switch (state) {
    case "waits":
      return l10n.t("{0}: {1} tasks wait", name, count);
    case "runs":
      return l10n.t("{0}: {1} tasks run", name, count);
    default:
      return l10n.t("{0}: {1} tasks are ready", name, count);
  }
}

/** The answers of processes about themselves: "Rank 0 handles ValueError('shape 3'): Trainer.fit (train.py:88)". */
export function insideTexts({ inside, ranks }: Picture): string[] {
  const silent = new Map<string, number[]>();
  const sentences = inside.flatMap(({ group, rank, reason, exceptions, awaits }) => {
    const row = ranks.find((each) => each.group === group && each.rank === rank);
    const isRank = (row?.role ?? "rank") === "rank";
    const name = isRank ? l10n.t("Rank {0}", rank) : `${singleLine(group)} ${rank}`;
    const why = REASONS[reason] ?? singleLine(reason);
    if (reason !== "" && isRank) {
      silent.set(why, [...(silent.get(why) ?? []), rank]);
    }
    return [
      ...(reason === "" || isRank ? [] : [l10n.t("Not read: {0} ({1})", name, why)]),
      ...exceptions.map(({ text, first, variable, frames }) => {
        const exception = singleLine(first || text);
        const sentence =
          variable === ""
            ? l10n.t("{0} handles {1}", name, exception)
            : l10n.t("{0} holds {1} in {2}", name, exception, singleLine(variable));
        return chainText(sentence, frames);
      }),
      ...awaits.map(({ state, count, frames, waits_for }) => {
        const sentence = tasksText(state, name, count);
        return chainText(sentence, frames, waits_for);
      }),
    ];
  });
  const unread = [...silent].map(([why, all]) => {
    const listed = shortRanks(joined(all.map((rank) => [rank, rank] as const)));
    return l10n.t(
      "Not read: {0} ({1})",
      all.length === 1 ? l10n.t("Rank {0}", listed) : l10n.t("Ranks {0}", listed),
      why,
    );
  });
  return [...sentences, ...unread];
}

/** The native code that the representative runs: "Rank 1 runs native code: f (libx.so)", and its pause. */
export function nativeTexts({ native, ranks }: Picture): string[] {
  return native.flatMap(({ group, rank, reason, frames, paused_s }) => {
    const row = ranks.find((each) => each.group === group && each.rank === rank);
    const isRank = (row?.role ?? "rank") === "rank";
    const name = isRank ? l10n.t("Rank {0}", rank) : `${singleLine(group)} ${rank}`;
    const chain = frames
      .map((frame) => `${singleLine(frame.function) || "?"} (${singleLine(frame.library)})`)
      .join(" > ");
    const sentence =
      chain === ""
        ? l10n.t("{0} runs Python code", name)
        : l10n.t("{0} runs native code: {1}", name, chain);
    return [
      reason === ""
        ? sentence
        : l10n.t("{0}: no native frames ({1})", name, REASONS[reason] ?? singleLine(reason)),
      ...(paused_s > 0
        ? [l10n.t("{0} was paused for at most {1} s to read this", name, paused_s.toFixed(1))]
        : []),
    ];
  });
}

/** "SENTENCE: generate (rollout.py:41) > Queue.get (queues.py:158)": the frames that are the user's, and the last. */
function chainText(sentence: string, frames: readonly FrameRow[], end = ""): string {
  const shown = frames
    .filter(({ users }, index) => users || index === frames.length - 1)
    .map((frame) => `${functionText(frame)} (${placeText(frame)})`);
  const steps = [...shown, ...(end === "" ? [] : [singleLine(end)])].join(" > ");
  return steps === "" ? sentence : `${sentence}: ${steps}`;
}

/** "1,3", "Policy 0-1" where the picture has several groups, "Policy 0, Reward 1" for a cycle through groups. */
export function culpritsText({ verdict, ranks }: Picture, hasGroups: boolean): string {
  const culprits = parsedRanks(verdict.culprits) ?? [];
  const groups = verdict.group.split(", ");
  if (culprits.length === 0) {
    return "";
  }
  if (groups.length === 1) {
    return `${hasGroups ? singleLine(verdict.group) : ""} ${shortRanks(culprits)}`.trim();
  }
  return groups
    .map((group) => {
      const own = ranks.filter((row) => row.group === group && hasRank(culprits, row.rank));
      return `${singleLine(group)} ${shortRanks(joined(own.map(({ rank }) => [rank, rank] as const)))}`;
    })
    .join(", ");
}

export function processesText({ coverage }: Picture): string {
  const { processes, samples } = coverage;
  if (samples === 0) {
    return processes === 1
      ? l10n.t("Stacks of 1 process were given")
      : l10n.t("Stacks of {0} processes were given", processes);
  }
  const counted = processes === 1 ? l10n.t("1 process") : l10n.t("{0} processes", processes);
  return `${counted}, ${samples === 1 ? l10n.t("1 sample") : l10n.t("{0} samples", samples)}`;
}

/** "A" … "Z", "AA" …: names a class beside its colour. */
export function classLetter(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : `${classLetter(Math.floor(index / 26) - 1)}${letter}`;
}

export function shortRanks(ranks: Ranks): string {
  return ranksText(ranks, MOST_PARTS);
}

/** "0-3"; with the groups where the picture has several. */
export function membersText(members: Members, hasGroups: boolean): string {
  return [...members]
    .map(([group, ranks]) =>
      hasGroups ? `${singleLine(group)} ${shortRanks(ranks)}` : shortRanks(ranks),
    )
    .join("; ");
}

/** "Trainer.fit": the innermost name of a function within others. */
export function functionText({ function: name }: FrameRow): string {
  return singleLine(name.split("<locals>.").at(-1) ?? name);
}

/** "train.py:88". */
export function placeText({ path, line }: FrameRow): string {
  const name = singleLine(path.slice(path.lastIndexOf("/") + 1));
  return line === 0 ? name : `${name}:${line}`;
}

/** A process in a table: its rank, or nothing for one that is counted by its PID. */
export function rankText({ rank, pid }: RankRow): string {
  return rank === pid ? "" : String(rank);
}

export function doingText(doing: string): string {
  return DOING[doing] ?? singleLine(doing);
}

/** "GPU 3 · 97 % · 61 GB": how busy it was at the first and at the last sample, and the memory of the process. */
export function gpusText({ gpus }: RankRow): string {
  return gpus
    .map(({ number, first, last, memory_mib }) => {
      const percent = first < 0 || first === last ? `${last}` : `${first} → ${last}`;
      const memory = (memory_mib / 1024).toFixed(memory_mib < 10_240 ? 1 : 0);
      return [
        l10n.t("GPU {0}", number),
        ...(last < 0 ? [] : [l10n.t("{0} %", percent)]),
        ...(memory_mib < 0 ? [] : [l10n.t("{0} GB", memory)]),
      ].join(" · ");
    })
    .join(", ");
}

export function stateText(state: string): string {
  return STATES[state] ?? singleLine(state);
}

export function roleText(role: string): string {
  return ROLES[role] ?? singleLine(role);
}
