/** A part of an array as an image, with a legend; NaN and infinite numbers have a pattern of their own. */

import { element } from "../../../page/frame/elements";
import { l10n } from "../../../page/frame/l10n";
import type { ValueGrid } from "../value_messages";
import { figure, finite, rampColour } from "./figures";

const LARGEST_PX = 512;
const LEGEND = { width: 160, height: 12 };
const NAN_COLOUR = "rgb(255 0 160)";
const INF_COLOUR = "rgb(255 255 255)";

export function imageView(grid: ValueGrid): HTMLElement {
  const { cells } = grid;
  const numbers = cells.flat().flatMap((cell) => finite(cell) ?? []);
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  const others = cells.flat().length - numbers.length;
  const side = Math.max(
    3,
    Math.min(24, Math.floor(LARGEST_PX / Math.max(cells.length, cells[0]?.length ?? 1))),
  );
  const canvas = element("canvas", {
    role: "img",
    width: String(side * (cells[0]?.length ?? 0)),
    height: String(side * cells.length),
    "aria-label": l10n.t(
      "Image of {0} rows and {1} columns from {2} to {3}",
      cells.length,
      cells[0]?.length ?? 0,
      figure(low),
      figure(high),
    ),
  });
  const context = canvas.getContext("2d");
  if (context !== null) {
    cells.forEach((row, y) => {
      row.forEach((cell, x) => {
        paint(context, { x: x * side, y: y * side, side }, cell, { low, high });
      });
    });
  }
  const detail = element("p", { class: "detail" }, l10n.t("Point at a cell for its number."));
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const [row, column] = [Math.floor(offsetY / side), Math.floor(offsetX / side)];
    const cell = cells[row]?.[column];
    if (cell !== undefined) {
      detail.textContent = `[${grid.row + row * grid.row_step}, ${grid.column + column * grid.column_step}] = ${figure(cell)}`;
    }
  });
  const { row_step, column_step } = grid;
  const skipped = l10n.t("1 of {0} rows and 1 of {1} columns are shown.", row_step, column_step);
  const note = element("p", { class: "note" }, row_step * column_step > 1 ? skipped : "");
  return element("div", { class: "image" }, note, canvas, legend(low, high, others), detail);
}

function legend(low: number, high: number, others: number): HTMLElement {
  const canvas = element("canvas", {
    "aria-hidden": "true",
    width: String(LEGEND.width),
    height: String(LEGEND.height),
  });
  const context = canvas.getContext("2d");
  if (context !== null) {
    for (let x = 0; x < LEGEND.width; x += 1) {
      context.fillStyle = `rgb(${rampColour(x / (LEGEND.width - 1)).join(" ")})`;
      context.fillRect(x, 0, 1, LEGEND.height);
    }
  }
  const made = element("div", { class: "legend" }, figure(low), canvas, figure(high));
  if (others > 0) {
    made.append(sign("nan"), l10n.t("NaN"), sign("inf"), l10n.t("infinite"));
  }
  return made;
}

function sign(cell: string): HTMLElement {
  const side = 12;
  const canvas = element("canvas", {
    "aria-hidden": "true",
    width: String(side),
    height: String(side),
  });
  const context = canvas.getContext("2d");
  if (context !== null) {
    paint(context, { x: 0, y: 0, side }, cell, { low: 0, high: 1 });
  }
  return canvas;
}

function paint(
  context: CanvasRenderingContext2D,
  { x, y, side }: { readonly x: number; readonly y: number; readonly side: number },
  cell: number | string,
  { low, high }: { readonly low: number; readonly high: number },
): void {
  const value = finite(cell);
  if (value !== undefined) {
    context.fillStyle = `rgb(${rampColour(high > low ? (value - low) / (high - low) : 0.5).join(" ")})`;
    context.fillRect(x, y, side, side);
    return;
  }
  context.fillStyle = cell === "nan" ? NAN_COLOUR : INF_COLOUR;
  context.fillRect(x, y, side, side);
  context.strokeStyle = "black";
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + side, y + side);
  if (cell !== "nan") {
    context.moveTo(x + side, y);
    context.lineTo(x, y + side);
  }
  context.stroke();
}
