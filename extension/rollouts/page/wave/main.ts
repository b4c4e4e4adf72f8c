/** The page of a wave: draws what the editor sends. */

import { page, pageEditor } from "../../../page/frame/editor";
import { l10n } from "../../../page/frame/l10n";
import { button, element, section, withCode } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";
import type { ContractRule, RewardBin, WaveProgress, WaveReport } from "../../messages";
import type { FromWavePage, ToWavePage } from "../../wave_messages";

import { rounded } from "../token_colours";
import { runsTable, sourceButton } from "./runs_table";
import "./wave.css";

const { post, exportButton, onMessage } = pageEditor<FromWavePage, ToWavePage, object>({});
let view: WaveView | undefined;

onMessage((message) => {
  if (message.kind === "wave") {
    view = new WaveView(message.title, message.from);
    page.replaceChildren(view.root);
  } else {
    view?.take(message);
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
  private readonly export = exportButton();
  private readonly verdicts = element("div", {});
  private readonly figures = element("div", {});
  private readonly rest = element("div", {});

  constructor(title: string, from: string) {
    this.state.textContent = l10n.t("Starting…");
    this.bar.setAttribute("aria-label", title);
    this.cancel = button(l10n.t("Cancel"), () => {
      this.cancel.disabled = true;
      post({ kind: "cancel" });
    });
    this.again = button(l10n.t("Run Again"), () => {
      post({ kind: "again" });
    });
    this.again.hidden = true;
    this.export.hidden = true;
    this.root = element(
      "div",
      {},
      element("h1", {}, singleLine(title)),
      element("p", { class: "from" }, singleLine(from)),
      this.state,
      this.bar,
      element("div", { class: "buttons" }, this.cancel, this.again, this.export),
      this.verdicts,
      this.figures,
      this.rest,
    );
  }

  take(message: Exclude<ToWavePage, { kind: "wave" }>): void {
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
    this.state.textContent = l10n.t("{0} of {1} runs done", ended, progress.runs);
    this.bar.value = ended / Math.max(progress.runs, 1);
    this.figures.replaceChildren(
      section("figures", l10n.t("Figures"), element("dl", {}, ...figures(progress))),
    );
    if (!isRunning) {
      this.showOver();
    }
  }

  private showOver(): void {
    this.bar.hidden = true;
    this.cancel.hidden = true;
    this.again.hidden = false;
    this.export.hidden = false;
  }

  private showReport(report: WaveReport): void {
    if (report.is_cancelled) {
      this.state.textContent = l10n.t("Cancelled. The runs that have ended are below.");
    } else if (report.ending !== "") {
      this.state.textContent = singleLine(report.ending);
    }
    this.verdicts.replaceChildren(section("verdicts", l10n.t("Verdicts"), ...verdictLines(report)));
    this.rest.replaceChildren(
      section("contract", l10n.t("Contract"), ...contract(report.contract, report.problem)),
      ...(report.runs.length === 0
        ? []
        : [section("runs", l10n.t("Failed and slow runs"), runsTable(report.runs, post))]),
    );
  }
}

function figures(progress: WaveProgress): HTMLElement[] {
  const { totals, latency_ms: latency } = progress;
  const tokens = totals.seconds > 0 ? totals.tokens / totals.seconds : 0;
  const flying = l10n.t(
    "{0} runs (peak {1}), {2} requests (peak {3})",
    ...[totals.in_flight, totals.max_in_flight],
    ...[totals.requests_in_flight, totals.max_requests_in_flight],
  );
  const times = [latency.p50, latency.p99, latency.max].map(duration);
  const lags = [totals.lag_p50_ms, totals.lag_max_ms].map(duration);
  const rows: readonly (readonly [string, string | HTMLElement])[] = [
    [l10n.t("In flight"), flying],
    [l10n.t("Done"), String(progress.done)],
    [l10n.t("Failed"), String(progress.failed)],
    [l10n.t("Tokens/s"), String(Math.round(tokens))],
    [l10n.t("Latency"), l10n.t("p50 {0}, p99 {1}, max {2}", ...times)],
    [l10n.t("Event loop lag"), l10n.t("p50 {0}, max {1}", ...lags)],
    [l10n.t("Rewards"), histogram(progress.rewards)],
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
function histogram(bins: readonly RewardBin[]): HTMLElement {
  const most = Math.max(...bins.map(({ count }) => count), 1);
  return element(
    "ul",
    { class: "rewards" },
    ...bins.map(({ low, high, count }) => {
      const range =
        low === high ? String(rounded(low)) : l10n.t("{0} to {1}", rounded(low), rounded(high));
      const bar = element("span", { class: "bar", "aria-hidden": "true" });
      bar.style.setProperty("--part", String(count / most));
      return element("li", {}, element("span", {}, l10n.t("{0}: {1}", range, count)), bar);
    }),
  );
}

/** The sentence of each verdict; the line that it names is a button, which opens it. */
function verdictLines({ verdicts }: WaveReport): HTMLElement[] {
  if (verdicts.length === 0) {
    return [element("p", { class: "nothing" }, l10n.t("Nothing slows this wave down."))];
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

function contract(rules: readonly ContractRule[], problem: string): HTMLElement[] {
  const lines = rules.map(({ ok, text }) =>
    element(
      "li",
      { class: ok ? undefined : "broken" },
      `${ok ? l10n.t("holds") : l10n.t("broken")}: `,
      ...withCode(singleLine(text)),
    ),
  );
  return [element("ul", {}, ...lines), ...(problem === "" ? [] : [element("pre", {}, problem)])];
}
