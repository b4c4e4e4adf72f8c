/** The page of trajectories: draws what the editor sends. */

import { page } from "../../page/frame/editor";
import { l10n } from "../../page/frame/l10n";
import { element, button } from "../../page/frame/elements";

import { singleLine } from "../../page/frame/texts";
import type { TrajectoryPage } from "../messages";
import type { PagePart, ToTrajectoryPage } from "../page_messages";

import { onMessage, pageState, post, savePageState } from "./editor";
import { groupView } from "./group_view";
import { itemView } from "./item_view";
import { ListView } from "./list_view";
import "./page.css";
import { statisticsView } from "./statistics_view";
import { sizeText } from "./texts";

let view: PageView | undefined;

onMessage((message) => {
  if (message.kind === "dump") {
    const { path, name, item } = message;
    savePageState({ path, name, ...(item > 0 ? { item } : {}) });
    view = new PageView(name);
    page.replaceChildren(view.root);
    view.start(item > 0);
  } else {
    view?.take(message);
  }
});

window.addEventListener("scrollend", () => {
  savePageState({ scroll: window.scrollY });
});
for (const gesture of ["wheel", "pointerdown", "keydown"]) {
  window.addEventListener(
    gesture,
    () => {
      view?.stopFollowing();
    },
    { passive: true },
  );
}
post({ kind: "ready" });

/** The parts of the page, from top to bottom. */
class PageView {
  readonly root: HTMLElement;
  private readonly size = element("p", { class: "from" });
  private readonly unfinished = element("div", {});
  private readonly list: ListView;
  private readonly states: Readonly<Record<PagePart, PartState>>;
  private readonly statistics = element("div", {});
  private readonly item = element("div", {});
  private readonly group = element("div", {});
  private hasRows = false;
  /** The item that the editor opened stays in sight while what is above it is drawn, until the user does something. */
  private followsItem = false;

  constructor(name: string) {
    this.list = new ListView((item) => {
      this.open(item);
    });
    this.states = {
      list: new PartState("list"),
      item: new PartState("item"),
      group: new PartState("group"),
      statistics: new PartState("statistics"),
    };
    this.statistics.append(
      button(l10n.t("Sum Up All Lines"), () => {
        post({ kind: "sumUp" });
      }),
    );
    this.root = element(
      "div",
      {},
      element("h1", {}, singleLine(name)),
      this.size,
      element(
        "div",
        { class: "buttons" },
        button(l10n.t("Save Batch…"), () => {
          post({ kind: "saveBatch" });
        }),
      ),
      this.unfinished,
      element(
        "section",
        { "aria-labelledby": "statistics-title" },
        element("h2", { id: "statistics-title" }, l10n.t("Statistics")),
        this.states.statistics.root,
        this.statistics,
      ),
      this.list.root,
      this.states.list.root,
      this.states.item.root,
      this.item,
      this.states.group.root,
      this.group,
    );
  }

  start(followsItem: boolean): void {
    this.followsItem = followsItem;
    this.list.start();
    const { item } = pageState();
    if (item > 0) {
      post({ kind: "item", item });
    }
  }

  stopFollowing(): void {
    this.followsItem = false;
  }

  take(message: Exclude<ToTrajectoryPage, { kind: "dump" }>): void {
    switch (message.kind) {
      case "rows":
        this.showSize(message.page);
        this.list.update(message.query, message.page);
        this.restoreScroll();
        break;
      case "counted":
        this.showSize(message.page);
        this.list.setTotal(message.page.items);
        break;
      case "item":
        this.item.replaceChildren(itemView(message.item));
        break;
      case "group":
        this.group.replaceChildren(
          groupView(message.group, (item) => {
            this.open(item);
          }),
        );
        this.group.scrollIntoView();
        break;
      case "statistics":
        this.statistics.replaceChildren(
          statisticsView(message.statistics, (filter) => {
            this.list.showFilter(filter);
          }),
        );
        break;
      case "loading":
        this.states[message.part].load(message.message, message.percentage);
        break;
      case "loaded":
        this.states[message.part].clear();
        break;
      case "failed":
        this.states[message.part].fail(message.message, message.nextStep);
        break;
    }
    if (this.followsItem && this.item.hasChildNodes()) {
      this.item.scrollIntoView();
    }
  }

  private open(item: number): void {
    savePageState({ item });
    this.group.replaceChildren();
    post({ kind: "item", item });
  }

  private showSize(shown: TrajectoryPage): void {
    this.size.textContent = sizeText(shown);
    this.unfinished.replaceChildren(
      ...shown.unfinished.map(({ file, line }) =>
        element(
          "p",
          { class: "note" },
          l10n.t("Line {0} of {1} isn't complete.", line, singleLine(file)),
        ),
      ),
      ...shown.notes.map((note) => element("p", { class: "note" }, singleLine(note))),
    );
  }

  private restoreScroll(): void {
    if (!this.hasRows) {
      this.hasRows = true;
      window.scrollTo(0, pageState().scroll);
    }
  }
}

/** The text of a part of the page that waits, or has nothing. */
class PartState {
  readonly root = element("div", { class: "part", role: "status" });
  private showing: number | undefined;

  constructor(private readonly part: PagePart) {}

  /** Most answers come before anything is shown. */
  load(message: string, percentage: number | null): void {
    window.clearTimeout(this.showing);
    const text = message === "" ? l10n.t("Reading…") : message;
    const sentence = percentage === null ? text : `${text}: ${percentage} %`;
    this.showing = window.setTimeout(
      () => {
        this.root.replaceChildren(
          element("span", {}, sentence),
          button(l10n.t("Cancel"), () => {
            post({ kind: "cancel", part: this.part });
          }),
        );
      },
      this.root.hasChildNodes() ? 0 : 300,
    );
  }

  clear(): void {
    window.clearTimeout(this.showing);
    this.root.replaceChildren();
  }

  fail(message: string, nextStep: string): void {
    this.clear();
    const sentence = message === "" ? l10n.t("Cancelled.") : `${message} ${nextStep}`.trim();
    this.root.append(element("span", { class: "problem" }, sentence));
    if (this.part === "list") {
      this.root.append(
        button(l10n.t("Read Again"), () => {
          post({ kind: "query", query: pageState().query });
        }),
      );
    }
  }
}
