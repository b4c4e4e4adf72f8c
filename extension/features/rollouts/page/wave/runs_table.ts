/** The runs of a wave that failed or were slow, as a grid with a button for each thing to do. */

import { button, element } from "../../../reports/page/elements";
import { singleLine } from "../../../reports/page/texts";
import type { WaveRun } from "../../messages";
import type { FromWavePage } from "../../wave_messages";
import type { WaveTexts } from "../../wave_texts";
import { GridFocus } from "../grid_focus";
import { rounded } from "../token_colours";

type Post = (message: FromWavePage) => void;

export function runsTable(texts: WaveTexts, runs: readonly WaveRun[], post: Post): HTMLElement {
  const headings = [
    heading(texts.item, "number"),
    heading(texts.outcome, "text"),
    heading(texts.seconds, "number"),
    heading(texts.reward, "number"),
    heading(texts.problem, "text"),
    heading(texts.line, "text"),
    heading(texts.actions, "text", "2"),
  ];
  const table = element(
    "table",
    { role: "grid", "aria-label": texts.runs },
    element("thead", {}, element("tr", {}, ...headings)),
    element("tbody", {}, ...runs.map((run) => runRow(texts, run, post))),
  );
  new GridFocus(table);
  return element("div", { class: "table" }, table);
}

/** Opens a line of a file, whose name it has. */
export function sourceButton(path: string, line: number, post: Post): HTMLButtonElement {
  const name = path.split("/").at(-1) ?? path;
  const made = button(`${singleLine(name)}:${line}`, () => {
    post({ kind: "source", path, line });
  });
  made.classList.add("source");
  return made;
}

function heading(title: string, kind: "number" | "text", columns?: string): HTMLElement {
  const attributes = { scope: columns === undefined ? "col" : "colgroup", colspan: columns };
  return element("th", { ...attributes, tabindex: "-1", class: `fixed ${kind}` }, title);
}

function runRow(texts: WaveTexts, run: WaveRun, post: Post): HTMLElement {
  const problem = singleLine(run.problem);
  const trace = button(texts.trace, () => {
    post({ kind: "trace", trace: run.trace });
  });
  const debug = button(texts.debug, () => {
    post({ kind: "debug", item: run.item });
  });
  return element(
    "tr",
    {},
    cell("number", String(run.item)),
    cell("", texts.outcomes[run.outcome] ?? singleLine(run.outcome)),
    cell("number", run.seconds.toFixed(2)),
    cell("number", run.reward === null ? "–" : String(rounded(run.reward))),
    element("td", { tabindex: "-1", class: "text", title: problem }, problem),
    run.path === "" ? cell("", "") : actionCell(sourceButton(run.path, run.line, post)),
    actionCell(trace),
    actionCell(debug),
  );
}

function cell(kind: "number" | "", text: string): HTMLElement {
  return element("td", { tabindex: "-1", class: kind === "" ? undefined : kind }, text);
}

/** A cell whose button has the focus in its place. */
function actionCell(action: HTMLButtonElement): HTMLElement {
  action.tabIndex = -1;
  return element("td", {}, action);
}
