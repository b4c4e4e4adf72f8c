/** A GPU: how busy it was in total, and over time. */

import { l10n } from "../../../page/frame/l10n";
import uPlot from "uplot";

import type { Verbatim } from "../../../common/texts";
import type { GpuUsage } from "../messages";

import { element } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";
import { gpuFacts, gpuName, nanosecondsText, shareText } from "./texts";

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

  constructor(private readonly gpu: GpuUsage) {
    const name = gpuName(gpu);
    const label = l10n.t("How busy {0} was over time", name);
    this.place = element("div", { class: "curve", role: "img", "aria-label": label });
    const items = gpuFacts(gpu).map((gpuFact) => element("li", {}, singleLine(gpuFact)));
    this.root = element(
      "section",
      { class: "gpu" },
      element("h2", {}, singleLine(name)),
      ...(gpu.kernels === 0 ? [] : [busyBar(gpu.busy_share)]),
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
      this.plot = new uPlot(options(width), points(this.gpu), this.place);
    } else {
      this.plot.setSize({ width, height: HEIGHT });
    }
  }
}

function busyBar(part: number): HTMLElement {
  const bar = element("div", {
    class: "busy",
    role: "img",
    "aria-label": l10n.t("busy {0}", shareText(part)),
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

function options(width: number): uPlot.Options {
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
      { label: l10n.t("time"), value: (_, at) => time(at) },
      {
        label: l10n.t("busy"),
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

/** A colour for the canvas, which takes no `light-dark()` of an exported page. */
function color(name: string): string {
  const probe = element("span");
  probe.style.color = `var(${name}, currentColor)`;
  document.body.append(probe);
  const { color: resolved } = getComputedStyle(probe);
  probe.remove();
  return resolved;
}
