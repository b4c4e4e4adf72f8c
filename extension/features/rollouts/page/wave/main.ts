/** The page of a wave: draws what the editor sends. */

import { filled } from "../../../../common/filled";
import { button, element, section, withCode } from "../../../reports/page/elements";
import { singleLine } from "../../../reports/page/texts";
import type { ContractRule, RewardBin, WaveProgress, WaveReport } from "../../messages";
import type { FromWavePage, ToWavePage } from "../../wave_messages";
import type { WaveTexts } from "../../wave_texts";
import { rounded } from "../token_colours";
import { runsTable, sourceButton } from "./runs_table";
import "./wave.css";

// The editor puts this function into every page of an extension.
declare function acquireVsCodeApi(): { postMessage(message: FromWavePage): void };

const api = acquireVsCodeApi();
const post = (message: FromWavePage): void => {
  api.postMessage(message);
};
const page = document.getElementById("page") ?? document.body;
let view: WaveView | undefined;

window.addEventListener("message", ({ data }: MessageEvent<ToWavePage>) => {
  if (data.kind === "texts") {
    view = new WaveView(data.texts, data.title, data.from);
    page.replaceChildren(view.root);
  } else {
    view?.take(data);
  }
});
post({ kind: "ready" });

/** The parts of the page, from top to bottom. */
class WaveView {
  readonly root: HTMLElement;
  private readonly state = element("p", { role: "status" });
  private readonly bar: HTMLProgressElement = element("progress", { max: "1" });
  private readonly cancel: HTMLButtonElement;
  private readonly again: HTMLButtonElement;
  private readonly verdicts = element("div", {});
  private readonly figures = element("div", {});
  private readonly rest = element("div", {});

  constructor(
    private readonly texts: WaveTexts,
    title: string,
    from: string,
  ) {
    this.state.textContent = texts.starting;
    this.bar.setAttribute("aria-label", title);
    this.cancel = button(texts.cancel, () => {
      this.cancel.disabled = true;
      post({ kind: "cancel" });
    });
    this.again = button(texts.again, () => {
      post({ kind: "again" });
    });
    this.again.hidden = true;
    this.root = element(
      "div",
      {},
      element("h1", {}, singleLine(title)),
      element("p", { class: "from" }, singleLine(from)),
      this.state,
      this.bar,
      element("div", { class: "buttons" }, this.cancel, this.again),
      this.verdicts,
      this.figures,
      this.rest,
    );
  }

  take(message: Exclude<ToWavePage, { kind: "texts" }>): void {
    switch (message.kind) {
      case "progress":
        this.showProgress(message.progress, message.isRunning);
        break;
      case "report":
        this.showReport(message.report);
        break;
      case "failed":
        this.showOver();
        this.state.replaceChildren(...withCode(`${message.message} ${message.nextStep}`.trim()));
        break;
    }
  }

  private showProgress(progress: WaveProgress, isRunning: boolean): void {
    const ended = progress.totals.ended;
    this.state.textContent = filled(this.texts.ended, ended, progress.runs);
    this.bar.value = ended / Math.max(progress.runs, 1);
    const { texts } = this;
    this.figures.replaceChildren(
      section("figures", texts.figures, element("dl", {}, ...figures(texts, progress))),
    );
    if (!isRunning) {
      this.showOver();
    }
  }

  private showOver(): void {
    this.bar.hidden = true;
    this.cancel.hidden = true;
    this.again.hidden = false;
  }

  private showReport(report: WaveReport): void {
    const { texts } = this;
    if (report.is_cancelled) {
      this.state.textContent = texts.cancelled;
    } else if (report.ending !== "") {
      this.state.textContent = singleLine(report.ending);
    }
    this.verdicts.replaceChildren(
      section("verdicts", texts.verdicts, ...verdictLines(texts, report)),
    );
    this.rest.replaceChildren(
      section("contract", texts.contract, ...contract(texts, report.contract, report.problem)),
      ...(report.runs.length === 0
        ? []
        : [section("runs", texts.runs, runsTable(texts, report.runs, post))]),
    );
  }
}

function figures(texts: WaveTexts, progress: WaveProgress): HTMLElement[] {
  const { totals, latency_ms: latency } = progress;
  const tokens = totals.seconds > 0 ? totals.tokens / totals.seconds : 0;
  const flying = filled(
    texts.inFlightText,
    ...[totals.in_flight, totals.max_in_flight],
    ...[totals.requests_in_flight, totals.max_requests_in_flight],
  );
  const times = [latency.p50, latency.p99, latency.max].map(duration);
  const lags = [totals.lag_p50_ms, totals.lag_max_ms].map(duration);
  const rows: readonly (readonly [string, string | HTMLElement])[] = [
    [texts.inFlight, flying],
    [texts.done, String(progress.done)],
    [texts.failed, String(progress.failed)],
    [texts.tokens, String(Math.round(tokens))],
    [texts.latency, filled(texts.latencyText, ...times)],
    [texts.lag, filled(texts.lagText, ...lags)],
    [texts.rewards, histogram(texts, progress.rewards)],
  ];
  return rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
}

/** "80 ms", "2.31 s". */
function duration(milliseconds: number): string {
  return milliseconds < 1000
    ? `${Math.round(milliseconds)} ms`
    : `${(milliseconds / 1000).toFixed(2)} s`;
}

/** A line for each bin: its values, its number, and a bar. */
function histogram(texts: WaveTexts, bins: readonly RewardBin[]): HTMLElement {
  const most = Math.max(...bins.map(({ count }) => count), 1);
  return element(
    "ul",
    { class: "rewards" },
    ...bins.map(({ low, high, count }) => {
      const range =
        low === high ? String(rounded(low)) : filled(texts.range, rounded(low), rounded(high));
      const bar = element("span", { class: "bar", "aria-hidden": "true" });
      bar.style.setProperty("--part", String(count / most));
      return element("li", {}, element("span", {}, filled(texts.bar, range, count)), bar);
    }),
  );
}

/** The sentence of each verdict; the line that it names is a button, which opens it. */
function verdictLines(texts: WaveTexts, { verdicts }: WaveReport): HTMLElement[] {
  if (verdicts.length === 0) {
    return [element("p", { class: "nothing" }, texts.noVerdict)];
  }
  return verdicts.map(({ sentence, file, line }) =>
    element(
      "p",
      { class: "verdict" },
      ...withCode(singleLine(sentence)),
      " ",
      ...(file === "" ? [] : [sourceButton(file, line, post)]),
    ),
  );
}

function contract(
  texts: WaveTexts,
  rules: readonly ContractRule[],
  problem: string,
): HTMLElement[] {
  const lines = rules.map(({ ok, text }) =>
    element(
      "li",
      { class: ok ? undefined : "broken" },
      `${ok ? texts.holds : texts.broken}: `,
      ...withCode(singleLine(text)),
    ),
  );
  return [element("ul", {}, ...lines), ...(problem === "" ? [] : [element("pre", {}, problem)])];
}
