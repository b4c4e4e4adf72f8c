/** Asks for patterns of workers, and shows which known classes they match while they are typed. */

import * as vscode from "vscode";

import { count, dotted, plain } from "../../../common/texts";
import type { ClassMatch } from "../../profiling/messages";
import { patternsOf } from "./parse_input";

/** Returns the known classes, each with the pattern that matches it; does not reject. */
export type ClassPreview = (patterns: readonly string[]) => Promise<readonly ClassMatch[]>;

/** The list is requested again after a pause in typing of this length. */
const DEBOUNCE_MS = 200;

interface PatternItem extends vscode.QuickPickItem {
  /** The class that it adds to the patterns; "" for the line that takes them as they are. */
  readonly adds: string;
}

/** The patterns; undefined when the user closes the list. */
export function pickPatterns(
  given: readonly string[],
  preview: ClassPreview,
): Promise<readonly string[] | undefined> {
  const pick = vscode.window.createQuickPick<PatternItem>();
  pick.title = "Who is profiled";
  pick.placeholder = "Patterns of name, class or module.class, such as *policy*, *vllm*";
  pick.ignoreFocusOut = true;
  pick.value = given.join(", ");
  const looking = new MatchingClasses(pick, preview);
  return new Promise((resolve) => {
    pick.onDidChangeValue(() => {
      looking.schedule();
    });
    pick.onDidAccept(() => {
      const adds = pick.activeItems[0]?.adds ?? "";
      if (adds !== "") {
        pick.value = [...patternsOf(pick.value), adds].join(", ");
        looking.schedule();
      } else if (patternsOf(pick.value).length > 0) {
        resolve(patternsOf(pick.value));
        pick.dispose();
      }
    });
    pick.onDidHide(() => {
      looking.end();
      resolve(undefined);
      pick.dispose();
    });
    looking.schedule();
    pick.show();
  });
}

/** The classes that match what is typed; late answers and those to older patterns are ignored. */
class MatchingClasses {
  private timer: NodeJS.Timeout | undefined;
  /** Undefined until there is an answer. */
  private classes: readonly ClassMatch[] | undefined;
  private isOver = false;

  constructor(
    private readonly pick: vscode.QuickPick<PatternItem>,
    private readonly preview: ClassPreview,
  ) {}

  schedule(): void {
    this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(), DEBOUNCE_MS);
  }

  end(): void {
    this.isOver = true;
    clearTimeout(this.timer);
  }

  private async update(): Promise<void> {
    const typed = this.pick.value;
    this.pick.busy = true;
    const classes = await this.preview(patternsOf(typed));
    if (typed === this.pick.value && !this.isOver) {
      this.pick.busy = false;
      this.classes = classes;
      this.draw();
    }
  }

  private draw(): void {
    this.pick.items = previewItems(patternsOf(this.pick.value), this.classes);
  }
}

/** The classes of several clusters, each once. */
export function mergedClasses(lists: readonly (readonly ClassMatch[])[]): ClassMatch[] {
  const classes = new Map<string, ClassMatch>();
  for (const entry of lists.flat()) {
    const running = entry.running + (classes.get(entry.name)?.running ?? 0);
    classes.set(entry.name, { ...entry, running });
  }
  return [...classes.values()];
}

/** First the patterns as they are, then those that they match, then those that they could be made to match. */
export function previewItems(
  patterns: readonly string[],
  answer: readonly ClassMatch[] | undefined,
): PatternItem[] {
  const received = answer ?? [];
  const matched = received.filter(({ matched_by }) => matched_by !== "");
  const first =
    patterns.length === 0
      ? { label: "Type patterns", description: "or choose a class below" }
      : { label: plain(patterns.join(", ")), description: matchText(matched.length, answer) };
  const classes = [...matched, ...received.filter(({ matched_by }) => matched_by === "")];
  return [
    { ...first, iconPath: new vscode.ThemeIcon("arrow-right"), alwaysShow: true, adds: "" },
    ...classes.map(classItem),
  ];
}

function matchText(matched: number, classes: readonly ClassMatch[] | undefined): string {
  if (classes === undefined) {
    return "";
  }
  if (classes.length === 0) {
    return "no worker was seen yet that it could match; Enter takes it as it is";
  }
  return matched === 0
    ? "matches nothing that was seen yet"
    : `matches ${matched} of ${count(classes.length, "class", "es")}`;
}

function classItem({ name, running, matched_by }: ClassMatch): PatternItem {
  const isMatched = matched_by !== "";
  return {
    label: plain(name),
    description: dotted(
      running === 0 ? "seen before" : count(running, "worker"),
      isMatched ? plain(`matches ${matched_by}`) : "",
    ),
    iconPath: new vscode.ThemeIcon(isMatched ? "check" : "circle-large-outline"),
    alwaysShow: true,
    adds: isMatched ? "" : name,
  };
}
