/** A comparison: its sentence first, then figures, the heat map of the differences, and the worst tokens. */

import { filled } from "../../../../common/filled";
import { button, element, section, withCode } from "../../../reports/page/elements";
import { singleLine } from "../../../reports/page/texts";
import type { ComparisonTexts } from "../../comparison_texts";
import type { ShownComparison, ShownEngine } from "../../messages";
import { figure, fixed } from "./figures";
import { HeatMap } from "./heat_map";
import { worstTokens } from "./worst_tokens";

export class ComparisonView {
  readonly root: HTMLElement;
  private readonly again: HTMLButtonElement;

  constructor(
    private readonly texts: ComparisonTexts,
    private readonly comparison: ShownComparison,
    data: string,
    request: (kind: "again" | "save" | "copyMarkdown") => void,
  ) {
    const requests = (kind: Parameters<typeof request>[0]): HTMLButtonElement =>
      button(texts[kind], () => {
        request(kind);
      });
    this.again = requests("again");
    const { title, confidence, sentence, next_step, a, b, readings, rows, worst, notes, steps } =
      comparison;
    const engines: [string, string][] = [
      [texts.rollouts, engineText(a)],
      [texts.trainer, engineText(b)],
      [texts.data, data],
    ];
    this.root = element(
      "div",
      {},
      element(
        "h1",
        {},
        singleLine(title),
        " ",
        element("span", { class: "badge" }, filled(texts.sure, percentage(confidence))),
      ),
      element("p", { class: "sentence" }, ...withCode(sentence)),
      element("p", {}, ...withCode(next_step)),
      values(engines),
      element(
        "div",
        { class: "buttons" },
        this.again,
        ...(comparison.stored === "" ? [] : [requests("save"), requests("copyMarkdown")]),
      ),
      ...(readings.length > 1 ? [this.readings()] : []),
      section("figures", texts.figures, values(this.figures())),
      ...(steps.length > 1 ? [section("steps", texts.steps, list(this.stepSentences()))] : []),
      ...(rows.length > 0 ? [new HeatMap(texts, comparison).root] : []),
      ...(worst.length > 0 ? [section("worst", texts.worst, worstTokens(texts, worst))] : []),
      ...(notes.length > 0 ? [section("notes", texts.notes, list(notes))] : []),
    );
  }

  /** The button has the focus of who pressed it, so that it stays enabled. */
  showComparing(isOn: boolean): void {
    this.again.textContent = isOn ? this.texts.comparing : this.texts.again;
    this.again.setAttribute("aria-disabled", String(isOn));
  }

  private readings(): HTMLElement {
    const sentences = this.comparison.readings.map(
      ({ title, confidence, sentence }) =>
        `${filled(this.texts.reading, title, percentage(confidence))}: ${sentence}`,
    );
    return section("readings", this.texts.readings, list(sentences));
  }

  private figures(): [string, string][] {
    const { texts } = this;
    const { metrics } = this.comparison;
    const logprobs: [string, string][] =
      metrics === null
        ? []
        : [
            [texts.tokens, metrics.tokens.toLocaleString("en")],
            [texts.meanDlogp, figure(metrics.mean_abs_dlogp)],
            [texts.maxDlogp, figure(metrics.max_abs_dlogp)],
            [texts.meanDp, figure(metrics.mean_abs_dp)],
            [texts.kl, figure(metrics.k1_kl)],
            [texts.k3, figure(metrics.k3_kl)],
            [texts.multError, fixed(metrics.mult_error, 5)],
            [texts.pearson, metrics.pearson === null ? "" : fixed(metrics.pearson, 6)],
          ];
    return [...logprobs, ...this.ratioFigures(), ...this.promptFigures(), ...this.greedyFigures()];
  }

  private ratioFigures(): [string, string][] {
    const { texts } = this;
    const { ratios } = this.comparison;
    if (ratios === null) {
      return [];
    }
    const { outside, largest, clipped, quarters } = ratios;
    const shares = quarters.map((share) => `${shareFigure(share)} %`).join(", ");
    return [
      [
        texts.ratios,
        filled(texts.ratio, shareFigure(outside), figure(largest), shareFigure(clipped)),
      ],
      ["", filled(texts.quarters, shares)],
    ];
  }

  private stepSentences(): string[] {
    return this.comparison.steps.map(({ step, outside, largest }) =>
      filled(this.texts.step, step, shareFigure(outside), figure(largest)),
    );
  }

  private promptFigures(): [string, string][] {
    const { texts } = this;
    const { prompts, prompts_different, prompt_difference: first } = this.comparison;
    if (prompts === 0) {
      return [];
    }
    const same = filled(texts.samePrompts, prompts - prompts_different, prompts);
    return [
      [texts.data, same],
      ...(first === null
        ? []
        : [
            [
              "",
              filled(
                texts.promptDifference,
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
    const { texts } = this;
    const { sequences, diverged, near_ties, first } = this.comparison.greedy;
    if (sequences === 0) {
      return [];
    }
    const same = filled(texts.sameGreedy, sequences - diverged, sequences, near_ties);
    if (first === null) {
      return [[texts.greedy, same]];
    }
    const { sequence, position, a_id, b_id, b_margin } = first;
    return [
      [texts.greedy, same],
      ["", filled(texts.divergence, sequence, position, a_id, b_id, figure(b_margin))],
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
