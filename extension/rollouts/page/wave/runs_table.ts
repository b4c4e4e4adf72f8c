/** The runs of a wave that failed or were slow, as a grid with a button for each thing to do. */

import { button, element } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";
import { l10n } from "../../../page/frame/l10n";
import type { TableColumn } from "../../../page/frame/grid";
import { SortedTable, tableCell } from "../../../page/frame/table";
import type { WaveRun } from "../../messages";
import type { FromWavePage } from "../../wave_messages";
import { rounded } from "../token_colours";
import { OUTCOMES } from "./names";

type Post = (message: FromWavePage) => void;

const NUMBER = { isNumber: true, sorts: false };
const TEXT = { isNumber: false, sorts: false };
const COLUMNS: readonly TableColumn[] = [
  { id: "item", title: l10n.t("Item"), ...NUMBER },
  { id: "outcome", title: l10n.t("Outcome"), ...TEXT },
  { id: "seconds", title: l10n.t("Seconds"), ...NUMBER },
  { id: "reward", title: l10n.t("Reward"), ...NUMBER },
  { id: "problem", title: l10n.t("Problem"), ...TEXT },
  { id: "line", title: l10n.t("Line"), ...TEXT },
  { id: "actions", title: l10n.t("Actions"), ...TEXT, span: 2 },
];

export function runsTable(runs: readonly WaveRun[], post: Post): HTMLElement {
  const table = new SortedTable(l10n.t("Failed and slow runs"));
  const rows = runs.map((run) => runRow(run, post));
  table.draw({ columns: COLUMNS, rows, total: rows.length });
  return table.root;
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

function runRow(run: WaveRun, post: Post): HTMLTableRowElement {
  const problem = tableCell(TEXT, singleLine(run.problem));
  problem.title = singleLine(run.problem);
  const trace = button(l10n.t("Open Trace"), () => {
    post({ kind: "trace", trace: run.trace });
  });
  const debug = button(l10n.t("Debug This Item"), () => {
    post({ kind: "debug", item: run.item });
  });
  return element(
    "tr",
    {},
    tableCell(NUMBER, String(run.item)),
    element("td", { tabindex: "-1" }, OUTCOMES[run.outcome] ?? singleLine(run.outcome)),
    tableCell(NUMBER, run.seconds.toFixed(2)),
    tableCell(NUMBER, run.reward === null ? "–" : String(rounded(run.reward))),
    problem,
    run.path === ""
      ? element("td", { tabindex: "-1" })
      : actionCell(sourceButton(run.path, run.line, post)),
    actionCell(trace),
    actionCell(debug),
  );
}

/** A cell whose button has the focus in its place. */
function actionCell(action: HTMLButtonElement): HTMLElement {
  action.tabIndex = -1;
  return element(
    "td",
    { class: action.classList.contains("source") ? undefined : "needs-editor" },
    action,
  );
}
