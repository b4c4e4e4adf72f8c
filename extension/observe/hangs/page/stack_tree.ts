/** The prefix tree of the stacks of a picture, and its rows: chains folded, frames that only wrap calls hidden. */

import type { FrameRow, StackClass } from "../messages";
import { joined, parsedRanks, type Ranks } from "./rank_sets";

/** Ranks by their group. */
export type Members = ReadonlyMap<string, Ranks>;

/** A class of the picture that is shown: `index` is its place in the picture, `members` those that fit the filter. */
export interface ShownClass {
  readonly index: number;
  readonly entry: StackClass;
  readonly ranks: Ranks;
}

/** Frames that its classes share, one below the other, and what follows them; `ends` are the classes without more. */
export interface StackNode {
  readonly frames: readonly FrameRow[];
  readonly classes: readonly ShownClass[];
  readonly ends: readonly ShownClass[];
  readonly children: readonly StackNode[];
}

/** All classes of a picture. */
export function shownClasses(classes: readonly StackClass[]): readonly ShownClass[] {
  return classes.map((entry, index) => ({ index, entry, ranks: parsedRanks(entry.ranks) ?? [] }));
}

/**
 * The tree of `classes`, in their order; frames without a fork between them share a node.  Without recursion: the tree of
 * a recursive function is as deep as its stacks.
 */
export function stackTree(classes: readonly ShownClass[]): readonly StackNode[] {
  const roots: StackNode[] = [];
  const keyed = classes.map((shown) => ({ shown, keys: shown.entry.frames.map(frameKey) }));
  const unfinished = [{ below: keyed as readonly KeyedClass[], depth: 0, nodes: roots }];
  for (const { below, depth, nodes } of unfinished) {
    for (const alike of forks(below, depth)) {
      const end = sharedEnd(alike, depth);
      const children: StackNode[] = [];
      nodes.push({
        frames: alike[0]?.shown.entry.frames.slice(depth, end) ?? [],
        classes: alike.map(({ shown }) => shown),
        ends: alike.filter(({ keys }) => keys.length === end).map(({ shown }) => shown),
        children,
      });
      unfinished.push({ below: alike, depth: end, nodes: children });
    }
  }
  return roots;
}

interface KeyedClass {
  readonly shown: ShownClass;
  readonly keys: readonly string[];
}

function frameKey({ path, line, function: name }: FrameRow): string {
  return `${path}\0${line}\0${name}`;
}

/** The classes that continue at `depth`, grouped by frame. */
function forks(classes: readonly KeyedClass[], depth: number): Iterable<readonly KeyedClass[]> {
  const byFrame = new Map<string, KeyedClass[]>();
  for (const each of classes) {
    const key = each.keys[depth];
    if (key === undefined) {
      continue;
    }
    const alike = byFrame.get(key);
    if (alike === undefined) {
      byFrame.set(key, [each]);
    } else {
      alike.push(each);
    }
  }
  return byFrame.values();
}

/** The depth up to which all `classes` have the same frames; they have at `depth`. */
function sharedEnd(classes: readonly KeyedClass[], depth: number): number {
  const [first] = classes;
  const shortest = Math.min(...classes.map(({ keys }) => keys.length));
  let end = depth + 1;
  while (end < shortest && classes.every(({ keys }) => keys[end] === first?.keys[end])) {
    end += 1;
  }
  return end;
}

/** Only for rows that are drawn: each sorts all of its ranks. */
export function membersOf(classes: readonly ShownClass[]): Members {
  const byGroup = new Map<string, (readonly [number, number])[]>();
  for (const { entry, ranks } of classes) {
    const intervals = byGroup.get(entry.group) ?? [];
    intervals.push(...ranks);
    byGroup.set(entry.group, intervals);
  }
  return new Map([...byGroup].map(([group, intervals]) => [group, joined(intervals)]));
}

/** Finds the class of a process, by its group and rank. */
export function classFinder(
  classes: readonly ShownClass[],
): (process: { readonly group: string; readonly rank: number }) => ShownClass | undefined {
  const byGroup = new Map<string, (readonly [first: number, last: number, shown: ShownClass])[]>();
  for (const shown of classes) {
    const intervals = byGroup.get(shown.entry.group) ?? [];
    intervals.push(...shown.ranks.map(([first, last]) => [first, last, shown] as const));
    byGroup.set(shown.entry.group, intervals);
  }
  for (const intervals of byGroup.values()) {
    intervals.sort((left, right) => left[0] - right[0]);
  }
  return ({ group, rank }) => {
    const intervals = byGroup.get(group) ?? [];
    let [low, high] = [0, intervals.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const [first, last, shown] = intervals[middle] ?? [0, -1, undefined];
      if (rank >= first && rank <= last) {
        return shown;
      }
      [low, high] = rank < first ? [low, middle - 1] : [middle + 1, high];
    }
    return undefined;
  };
}

/** A row of the tree: a frame, or a class whose stack ends there. */
export type TreeRow = FrameTreeRow | ClassTreeRow;

/** `id` is the same for the same frames, whatever is hidden; `classes` is for the first frame of a node only. */
export interface FrameTreeRow {
  readonly row: "frame";
  readonly id: string;
  readonly level: number;
  readonly frame: FrameRow;
  readonly classes: readonly ShownClass[] | undefined;
  /** The class that alone has the frame. */
  readonly only: ShownClass | undefined;
  /** Undefined where nothing is below. */
  readonly isOpen: boolean | undefined;
}

export interface ClassTreeRow {
  readonly row: "class";
  readonly id: string;
  readonly level: number;
  readonly shown: ShownClass;
}

export interface TreeOptions {
  /** Whether frames of libraries and those that only wrap calls are shown, too. */
  readonly showsAll: boolean;
  /** The ids of frames below which nothing is shown. */
  readonly closed: ReadonlySet<string>;
}

/** The rows of the tree from top to bottom; the last frame of a node opens and closes what is below it. */
export function treeRows(tree: readonly StackNode[], options: TreeOptions): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const unwritten = placed(tree, 1, "");
  for (let next = unwritten.pop(); next !== undefined; next = unwritten.pop()) {
    const { node, level, id } = next;
    const isOpen = !options.closed.has(id);
    const shown = options.showsAll ? node.frames : folded(node.frames);
    let before = -1;
    for (const [place, frame] of shown.entries()) {
      const index = node.frames.indexOf(frame, before + 1);
      rows.push({
        row: "frame",
        id: place === shown.length - 1 ? id : `${id}/${index}`,
        level,
        frame,
        classes: place === 0 ? node.classes : undefined,
        only: node.classes.length === 1 ? node.classes[0] : undefined,
        isOpen: place === shown.length - 1 ? isOpen : undefined,
      });
      before = index;
    }
    const below = shown.length === 0 ? level : level + 1;
    if (isOpen) {
      for (const ended of node.ends) {
        rows.push({ row: "class", id: `class ${ended.index}`, level: below, shown: ended });
      }
      unwritten.push(...placed(node.children, below, id));
    }
  }
  return rows;
}

interface PlacedNode {
  readonly node: StackNode;
  readonly level: number;
  readonly id: string;
}

/** The nodes below the node `above`, the first one last. */
function placed(nodes: readonly StackNode[], level: number, above: string): PlacedNode[] {
  return nodes
    .map((node, at) => ({ node, level, id: above === "" ? `${at}` : `${above}.${at}` }))
    .reverse();
}

/** The frames of a chain that tell something: the user's, and the last that isn't hidden. */
function folded(frames: readonly FrameRow[]): readonly FrameRow[] {
  const telling = frames.filter(({ hidden }) => !hidden);
  return telling.filter(({ users }, at) => users || at === telling.length - 1);
}
