/** How the numbers of a value are distributed: bars of the same width between the least and the largest. */

import { element } from "../../../page/frame/elements";
import { l10n } from "../../../page/frame/l10n";
import type { ValueStatistics } from "../value_messages";
import { figure } from "./figures";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320;
const HEIGHT = 80;

export function histogram({ bins, min, max }: ValueStatistics): HTMLElement {
  const highest = Math.max(...bins);
  const peak = bins.indexOf(highest);
  const [low, high] = [Number(min), Number(max)];
  const width = WIDTH / bins.length;
  const edge = (at: number): string => figure(low + ((high - low) * at) / bins.length);
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  drawing.setAttribute("role", "img");
  drawing.setAttribute(
    "aria-label",
    l10n.t(
      "Histogram from {0} to {1}; most are between {2} and {3}.",
      figure(min),
      figure(max),
      edge(peak),
      edge(peak + 1),
    ),
  );
  bins.forEach((count, at) => {
    const bar = document.createElementNS(SVG, "rect");
    // A bar of one number can still be seen.
    const height = count === 0 ? 0 : Math.max(1, (HEIGHT * count) / highest);
    for (const [name, value] of Object.entries({
      x: at * width,
      y: HEIGHT - height,
      width: width - 1,
      height,
    })) {
      bar.setAttribute(name, String(value));
    }
    const title = document.createElementNS(SVG, "title");
    title.textContent = l10n.t("{0} to {1}: {2}", edge(at), edge(at + 1), count);
    bar.append(title);
    drawing.append(bar);
  });
  return element(
    "div",
    { class: "histogram" },
    drawing as unknown as HTMLElement,
    element(
      "div",
      { class: "ends" },
      element("span", {}, figure(min)),
      element("span", {}, figure(max)),
    ),
  );
}
