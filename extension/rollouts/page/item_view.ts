/** One trajectory: its values, its turns, and its tokens in colours. */

import { l10n } from "../../page/frame/l10n";
import { COLOURS, FIELD_NAMES } from "./names";
import { button, element } from "../../page/frame/elements";
import { singleLine } from "../../page/frame/texts";
import type { NamedText, TokenColumns, TrajectoryItem, Turn } from "../messages";

import { pageState, post, savePageState } from "./editor";
import { numberText, versionsText } from "./texts";
import {
  coloursOf,
  legendOf,
  modesOf,
  tokenCount,
  tokenTitle,
  type ColourMode,
} from "./token_colours";

/** More tokens are drawn on request only. */
const FIRST_TOKENS = 2000;

export function itemView(item: TrajectoryItem): HTMLElement {
  const { row, turns, columns, fields, raw, cut } = item;
  const compare = button(l10n.t("Show Group"), () => {
    post({ kind: "group", item: row.item });
  });
  return element(
    "section",
    { class: "item", "aria-labelledby": "item-title" },
    element(
      "div",
      { class: "head" },
      element("h2", { id: "item-title" }, l10n.t("Trajectory {0}", row.item)),
      compare,
    ),
    element("p", { class: "from" }, l10n.t("{0}, line {1}", singleLine(row.file), row.line)),
    valueList(item),
    ...(cut ? [element("p", { class: "note" }, l10n.t("Only the beginning is shown."))] : []),
    ...turns.map((turn) => turnView(turn)),
    ...fields.filter(isBlock).flatMap(({ name, text }) => block(singleLine(name), text)),
    ...(raw === "" ? [] : block(l10n.t("Line"), raw)),
    ...(tokenCount(columns) === 0 ? [] : [new TokensView(columns).root]),
  );
}

/** A field with lines, as what an agent printed. */
function isBlock({ text }: NamedText): boolean {
  return text.includes("\n");
}

function block(title: string, text: string): HTMLElement[] {
  return [element("h3", {}, title), element("pre", {}, text)];
}

function valueList({ row, fields }: TrajectoryItem): HTMLElement {
  const names = FIELD_NAMES;
  const values: [string, string][] = [
    [names.problem, row.problem],
    [names.format, row.format],
    [names.group, row.group],
    [names.sample, row.sample === null ? "" : String(row.sample)],
    [names.step, row.step === null ? "" : String(row.step)],
    [names.reward, row.reward === null ? "" : numberText(row.reward)],
    [names.tokens, row.tokens === null ? "" : String(row.tokens)],
    [names.promptTokens, row.prompt_tokens === null ? "" : String(row.prompt_tokens)],
    [names.versions, row.first_version === null ? "" : versionsText(row)],
    ...fields
      .filter((field) => !isBlock(field))
      .map(({ name, text }): [string, string] => [name, text]),
  ];
  return element(
    "dl",
    {},
    ...values
      .filter(([, value]) => value !== "")
      .flatMap(([name, value]) => [
        element("dt", {}, singleLine(name)),
        element("dd", {}, singleLine(value)),
      ]),
  );
}

function turnView({ role, text, trained }: Turn): HTMLElement {
  const badge = element(
    "span",
    { class: "badge" },
    trained === true ? l10n.t("trained") : l10n.t("not trained"),
  );
  const made = element(
    "div",
    { class: "turn" },
    element("h3", {}, singleLine(role), " ", ...(trained === null ? [] : [badge])),
    element("pre", {}, text),
  );
  made.classList.toggle("trained", trained === true);
  return made;
}

/** Tokens in the colours of a mode that the user selects. */
class TokensView {
  readonly root: HTMLElement;
  private mode: ColourMode | "";
  private limit = FIRST_TOKENS;
  private readonly legend = element("ul", { class: "legend" });
  private readonly list = element("div", { class: "tokens" });

  constructor(private readonly columns: TokenColumns) {
    const modes = modesOf(columns);
    const stored = pageState().colour;
    this.mode = modes.find((mode) => mode === stored) ?? modes[0] ?? "";
    this.root = element(
      "div",
      {},
      element("h3", {}, l10n.t("Tokens")),
      ...(modes.length > 1 ? [this.modeField(modes)] : []),
      this.legend,
      this.list,
    );
    this.draw();
  }

  private modeField(modes: readonly ColourMode[]): HTMLElement {
    const options = modes.map((mode) => element("option", { value: mode }, COLOURS[mode]));
    const select = element("select", { id: "colour" }, ...options);
    select.value = this.mode;
    select.addEventListener("change", () => {
      this.mode = select.value as ColourMode;
      savePageState({ colour: this.mode });
      this.draw();
    });
    const label = element("label", { for: "colour" }, l10n.t("Colour"));
    return element("div", { class: "field" }, label, select);
  }

  private draw(): void {
    const { columns, mode } = this;
    const colours = mode === "" ? [] : coloursOf(columns, mode);
    const entries = mode === "" ? [] : legendOf(columns, mode);
    const name = mode === "" ? "" : `${mode} `;
    this.legend.replaceChildren(
      ...entries.map(({ colour, text }) =>
        element("li", { class: `token ${name}c${colour}` }, text),
      ),
    );
    const total = tokenCount(columns);
    const shown = Math.min(total, this.limit);
    const more = button(l10n.t("Show All {0} Tokens", total), () => {
      this.limit = total;
      this.draw();
    });
    this.list.replaceChildren(
      ...Array.from({ length: shown }, (_, at) =>
        element(
          "span",
          { class: `token ${name}c${colours[at] ?? -1}`, title: tokenTitle(columns, at) },
          tokenText(columns, at),
        ),
      ),
      ...(shown < total ? [more] : []),
    );
  }
}

/** The text of a token, with its line breaks visible, or its id. */
function tokenText({ texts, ids }: TokenColumns, at: number): string {
  const text = texts[at] ?? "";
  return text === "" ? String(ids[at] ?? "·") : text.replaceAll("\n", "↵").replaceAll("\t", "⇥");
}
