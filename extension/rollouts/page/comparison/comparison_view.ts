/** A comparison: its sentence first, then figures, the heat map of the differences, and the worst tokens. */

import { l10n } from "../../../page/frame/l10n";
import { button, element, section, withCode } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";

import type { ShownComparison, ShownEngine } from "../../messages";
import { figure, fixed } from "./figures";
import { HeatMap } from "./heat_map";
import { worstTokens } from "./worst_tokens";

export class ComparisonView {
  readonly root: HTMLElement;
  private readonly again: HTMLButtonElement;

  constructor(
    private readonly comparison: ShownComparison,
    data: string,
    request: (kind: "again" | "save" | "copyMarkdown") => void,
    exportButton: HTMLButtonElement,
  ) {
    const requests = (title: string, kind: Parameters<typeof request>[0]): HTMLButtonElement =>
      button(title, () => {
        request(kind);
      });
    this.again = requests(l10n.t("Compare Again"), "again");
    const { title, confidence, sentence, next_step, a, b, readings, rows, worst, notes, steps } =
      comparison;
    const engines: [string, string][] = [
      [l10n.t("A, rollouts"), engineText(a)],
      [l10n.t("B, trainer"), engineText(b)],
      [l10n.t("Prompts"), data],
    ];
    this.root = element(
      "div",
      {},
      element(
        "h1",
        {},
        singleLine(title),
        " ",
        element("span", { class: "badge" }, l10n.t("{0} % sure", percentage(confidence))),
      ),
      element("p", { class: "sentence" }, ...withCode(sentence)),
      element("p", {}, ...withCode(next_step)),
      values(engines),
      element(
        "div",
        { class: "buttons" },
        this.again,
        ...(comparison.stored === ""
          ? []
          : [
              requests(l10n.t("Save…"), "save"),
              requests(l10n.t("Copy as Markdown"), "copyMarkdown"),
            ]),
        exportButton,
      ),
      ...(readings.length > 1 ? [this.readings()] : []),
      section("figures", l10n.t("Figures"), values(this.figures())),
      ...(steps.length > 1
        ? [section("steps", l10n.t("Training steps"), list(this.stepSentences()))]
        : []),
      ...(rows.length > 0 ? [new HeatMap(comparison).root] : []),
      ...(worst.length > 0 ? [section("worst", l10n.t("Worst Tokens"), worstTokens(worst))] : []),
      ...(notes.length > 0 ? [section("notes", l10n.t("Notes"), list(notes))] : []),
    );
  }

  /** The button has the focus of who pressed it, so that it stays enabled. */
  showComparing(isOn: boolean): void {
    this.again.textContent = isOn ? l10n.t("Comparing…") : l10n.t("Compare Again");
    this.again.setAttribute("aria-disabled", String(isOn));
  }

  private readings(): HTMLElement {
    const sentences = this.comparison.readings.map(
      ({ title, confidence, sentence }) =>
        `${l10n.t("{0}, {1} %", title, percentage(confidence))}: ${sentence}`,
    );
    return section("readings", l10n.t("Readings"), list(sentences));
  }

  private figures(): [string, string][] {
    const { metrics } = this.comparison;
    const logprobs: [string, string][] =
      metrics === null
        ? []
        : [
            [l10n.t("Tokens"), metrics.tokens.toLocaleString("en")],
            [l10n.t("Mean |Δlogp|"), figure(metrics.mean_abs_dlogp)],
            [l10n.t("Largest |Δlogp|"), figure(metrics.max_abs_dlogp)],
            [l10n.t("Mean |Δp|"), figure(metrics.mean_abs_dp)],
            [l10n.t("KL"), figure(metrics.k1_kl)],
            [l10n.t("k3-KL"), figure(metrics.k3_kl)],
            [l10n.t("Multiplicative error"), fixed(metrics.mult_error, 5)],
            [
              l10n.t("Pearson correlation"),
              metrics.pearson === null ? "" : fixed(metrics.pearson, 6),
            ],
          ];
    return [...logprobs, ...this.ratioFigures(), ...this.promptFigures(), ...this.greedyFigures()];
  }

  private ratioFigures(): [string, string][] {
    const { ratios } = this.comparison;
    if (ratios === null) {
      return [];
    }
    const { outside, largest, clipped, quarters } = ratios;
    const shares = quarters.map((share) => `${shareFigure(share)} %`).join(", ");
    return [
      [
        l10n.t("Importance ratios"),
        l10n.t(
          "{0} % outside 0.8 to 1.25, largest {1}; a cap of 2 clips {2} %",
          shareFigure(outside),
          figure(largest),
          shareFigure(clipped),
        ),
      ],
      ["", l10n.t("By quarter of the completion: {0}", shares)],
    ];
  }

  private stepSentences(): string[] {
    return this.comparison.steps.map(({ step, outside, largest }) =>
      l10n.t(
        "Step {0}: {1} % outside 0.8 to 1.25, largest {2}",
        step,
        shareFigure(outside),
        figure(largest),
      ),
    );
  }

  private promptFigures(): [string, string][] {
    const { prompts, prompts_different, prompt_difference: first } = this.comparison;
    if (prompts === 0) {
      return [];
    }
    const same = l10n.t("{0} of {1} have the same token ids", prompts - prompts_different, prompts);
    return [
      [l10n.t("Prompts"), same],
      ...(first === null
        ? []
        : [
            [
              "",
              l10n.t(
                "Prompt {0}, token {1}: A {2}, B {3}",
                first.prompt,
                first.position,
                `[${first.a.join(", ")}]`,
                `[${first.b.join(", ")}]`,
              ),
            ] satisfies [string, string],
          ]),
    ];
  }

  private greedyFigures(): [string, string][] {
    const { sequences, diverged, near_ties, first } = this.comparison.greedy;
    if (sequences === 0) {
      return [];
    }
    const same = l10n.t(
      "{0} of {1} sequences agree; near ties: {2}",
      sequences - diverged,
      sequences,
      near_ties,
    );
    if (first === null) {
      return [[l10n.t("Greedy tokens"), same]];
    }
    const { sequence, position, a_id, b_id, b_margin } = first;
    return [
      [l10n.t("Greedy tokens"), same],
      [
        "",
        l10n.t(
          "Sequence {0}, token {1}: A {2}, B {3}, margin {4}",
          sequence,
          position,
          a_id,
          b_id,
          figure(b_margin),
        ),
      ],
    ];
  }
}

function engineText({ name, kind, model, dtype }: ShownEngine): string {
  return [name, kind, model, dtype].filter((text) => text !== "").join(" · ");
}

/** A share as a percentage of two digits. */
function shareFigure(share: number): string {
  return String(Number((share * 100).toPrecision(2)));
}

function percentage(confidence: number): number {
  return Math.round(confidence * 100);
}

/** Names and values; a value without a name belongs to the name before. */
function values(pairs: readonly (readonly [string, string])[]): HTMLElement {
  return element(
    "dl",
    {},
    ...pairs
      .filter(([, value]) => value !== "")
      .flatMap(([name, value]) => [
        ...(name === "" ? [] : [element("dt", {}, name)]),
        element("dd", {}, singleLine(value)),
      ]),
  );
}

function list(sentences: readonly string[]): HTMLElement {
  return element(
    "ul",
    { class: "sentences" },
    ...sentences.map((sentence) => element("li", {}, ...withCode(singleLine(sentence)))),
  );
}
