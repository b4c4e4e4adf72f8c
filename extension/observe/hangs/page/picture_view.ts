/** A picture from top to bottom: the verdict, the stacks, the processes, and the filters of both. */

import { l10n } from "../../../page/frame/l10n";
import { element } from "../../../page/frame/elements";
import type { RankRow } from "../messages";
import type { ShownPicture } from "../page_messages";

import { pageState, savePageState } from "./editor";
import { FilterBar } from "./filter_bar";
import { classesWith, isValid, NO_FILTER, shownRanks, type Filter } from "./filters";
import type { RankColumn } from "./rank_table";
import { RanksView } from "./ranks_view";
import { classFinder, shownClasses, type ShownClass } from "./stack_tree";
import { TreeView } from "./tree_view";
import { VerdictView } from "./verdict_view";

export class PictureView {
  readonly root: HTMLElement;
  readonly verdict: VerdictView;
  private readonly tree: TreeView;
  /** The stacks of threads besides the leading ones. */
  private readonly threads: TreeView;
  private readonly ranks: RanksView;
  private readonly classes: readonly ShownClass[];
  private readonly classOf: (row: RankRow) => ShownClass | undefined;

  constructor(private readonly shown: ShownPicture) {
    const { picture, canInspect } = shown;
    const hasGroups = new Set(picture.ranks.map(({ group }) => group)).size > 1;
    this.classes = shownClasses(picture.classes);
    this.classOf = classFinder(this.classes);
    this.verdict = new VerdictView(shown, hasGroups);
    this.tree = new TreeView(hasGroups, canInspect);
    this.threads = new TreeView(hasGroups, false, l10n.t("Other Threads"), "threads");
    const classIndex = (row: RankRow): number => this.classOf(row)?.index ?? -1;
    const hidden: RankColumn[] = hasGroups ? [] : ["group"];
    const optional = ["collectives", "gpus"] as const;
    hidden.push(...optional.filter((id) => picture.ranks.every((row) => row[id].length === 0)));
    this.ranks = new RanksView(picture.verdict, classIndex, new Set(hidden));
    const stored = pageState().filter;
    const filter = isValid(stored) ? stored : NO_FILTER;
    const bar = new FilterBar(picture, filter, (changed) => {
      savePageState({ filter: changed });
      this.apply(changed);
    });
    const isEmpty = picture.ranks.length === 0;
    this.root = element(
      "article",
      {},
      this.verdict.root,
      ...(isEmpty
        ? [
            element(
              "p",
              { class: "nothing" },
              l10n.t("No process was sampled. Start your program, then sample again."),
            ),
          ]
        : [
            bar.root,
            this.tree.root,
            ...(picture.threads.length > 0 ? [this.threads.root] : []),
            this.ranks.root,
          ]),
    );
    this.apply(filter);
  }

  private apply(filter: Filter): void {
    const { picture } = this.shown;
    const rows = shownRanks(picture.ranks, filter, (row) => this.classOf(row)?.entry.thread);
    const isAll = rows.length === picture.ranks.length;
    this.tree.show(isAll ? this.classes : classesWith(this.classes, rows));
    const threads = shownClasses(picture.threads);
    this.threads.show(isAll ? threads : classesWith(threads, rows));
    this.ranks.show(rows);
  }
}
