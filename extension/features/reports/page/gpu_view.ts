/** A GPU: how busy it was in total, and over time. */

import uPlot from "uplot";

import { filled } from "../../../common/filled";
import type { Verbatim } from "../../../common/texts";
import type { GpuUsage } from "../messages";
import type { ReportTexts } from "../report_texts";
import { element } from "./elements";
import { gpuFacts, gpuName, nanosecondsText, singleLine, shareText } from "./texts";

const HEIGHT = 140;

export class GpuView {
  readonly root: HTMLElement;
  private readonly place: HTMLElement;
  private plot: uPlot | undefined;
  private readonly size = new ResizeObserver(() => {
    this.fit();
  });
  /** The editor changes the colours of an open page by its styles and classes. */
  private readonly theme = new MutationObserver(() => {
    this.plot?.redraw(false);
  });

  constructor(
    private readonly texts: ReportTexts,
    private readonly gpu: GpuUsage,
  ) {
    const name = gpuName(texts, gpu);
    const label = filled(texts.curve, name);
    this.place = element("div", { class: "curve", role: "img", "aria-label": label });
    const items = gpuFacts(texts, gpu).map((gpuFact) => element("li", {}, singleLine(gpuFact)));
    this.root = element(
      "section",
      { class: "gpu" },
      element("h2", {}, singleLine(name)),
      ...(gpu.kernels === 0 ? [] : [busyBar(texts, gpu.busy_share)]),
      element("ul", { class: "gpu-facts" }, ...items),
      ...(gpu.curve.length < 2 ? [] : [this.place]),
    );
    this.size.observe(this.place);
    this.theme.observe(document.documentElement, { attributeFilter: ["style", "class"] });
    this.theme.observe(document.body, { attributeFilter: ["class"] });
  }

  end(): void {
    this.size.disconnect();
    this.theme.disconnect();
    this.plot?.destroy();
  }

  /** The curve is drawn once the page knows how wide it is. */
  private fit(): void {
    const width = this.place.clientWidth;
    if (width === 0) {
      return;
    }
    if (this.plot === undefined) {
      this.plot = new uPlot(options(this.texts, width), points(this.gpu), this.place);
    } else {
      this.plot.setSize({ width, height: HEIGHT });
    }
  }
}

function busyBar(texts: ReportTexts, part: number): HTMLElement {
  const bar = element("div", {
    class: "busy",
    role: "img",
    "aria-label": filled(texts.busy, shareText(part)),
  });
  bar.style.setProperty("--part", `${inside(part) * 100}%`);
  return bar;
}

/** Rounding may lead a little beyond the whole. */
function inside(part: number): number {
  return Math.min(Math.max(part, 0), 1);
}

function points({ curve, begin_ns, end_ns }: GpuUsage): uPlot.AlignedData {
  const step = (end_ns - begin_ns) / curve.length;
  return [curve.map((_, index) => begin_ns + step * index), curve.map(inside)];
}

function options(texts: ReportTexts, width: number): uPlot.Options {
  const axis = {
    stroke: () => color("--vscode-descriptionForeground"),
    grid: { stroke: () => color("--vscode-editorWidget-border"), width: 1 },
    ticks: { stroke: () => color("--vscode-editorWidget-border"), width: 1 },
  };
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false }, y: { range: [0, 1] } },
    legend: { live: true },
    cursor: { drag: { x: true, y: false } },
    axes: [
      { ...axis, values: (_, at) => at.map(nanosecondsText) },
      { ...axis, size: 56, values: (_, at) => at.map((part) => `${Math.round(part * 100)} %`) },
    ],
    series: [
      { label: texts.time, value: (_, at) => time(at) },
      {
        label: texts.busyAxis,
        stroke: () => color("--vscode-charts-green"),
        fill: (): Verbatim =>
          `color-mix(in srgb, ${color("--vscode-charts-green")} 25%, transparent)`,
        width: 1,
        points: { show: false },
        value: (_, part) => portion(part),
      },
    ],
  };
}

function time(at: number | null): string {
  return at === null ? "–" : nanosecondsText(at);
}

function portion(part: number | null): string {
  return part === null ? "–" : shareText(part);
}

function color(name: string): string {
  return getComputedStyle(document.body).getPropertyValue(name) || "currentColor";
}
