/** Numbers, sizes and sentences of a value as display text, and the colour of a number in an image. */

import { l10n } from "../../../page/frame/l10n";
import type { ValueNumber, ValueRecord, ValueStatistics } from "../value_messages";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;
/** From dark to light, so that it can be read without colours, too. */
const RAMP: readonly (readonly [number, number, number])[] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** "0.4213", "1.234e-7": at most six digits; text stays as it is. */
export function figure(value: ValueNumber | null): string {
  if (typeof value !== "number") {
    return value ?? "–";
  }
  const size = Math.abs(value);
  const isPlain = Number.isInteger(value) ? size < 1e9 : size >= 1e-4 && size < 1e6;
  return isPlain
    ? String(Number(value.toPrecision(Number.isInteger(value) ? 10 : 6)))
    : value.toExponential(4).replace(/\.?0+e/, "e");
}

/** "16 KiB". */
export function byteSize(bytes: number): string {
  const step = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** step).toPrecision(3))} ${UNITS[step] ?? ""}`;
}

/** "Tensor (8, 1024) · bfloat16 · cuda:0 · 16 KiB". */
export function kindLine({ type = "", shape, dtype, device, bytes, local }: ValueRecord): string {
  const sizes = shape === undefined ? "" : ` (${shape.join(", ")})`;
  return [
    type + sizes,
    dtype ?? "",
    device ?? "",
    bytes === undefined ? "" : byteSize(bytes),
    local === true ? l10n.t("part of this rank") : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

/** The part of the numbers that was counted, as text; "" for all. */
export function sampleSentence({ how, count, of }: ValueStatistics): string {
  const counted = count.toLocaleString("en");
  const total = of.toLocaleString("en");
  switch (how) {
    case "first":
      return l10n.t("Of the first {0} of {1} numbers; time was up.", counted, total);
    case "spread":
      return l10n.t("Of a sample: {0} of {1} numbers, spread evenly.", counted, total);
    default:
      return "";
  }
}

/** A share from 0 to 1 as a colour. */
export function rampColour(share: number): readonly [number, number, number] {
  const place = Math.max(0, Math.min(1, share)) * (RAMP.length - 1);
  const below = RAMP[Math.floor(place)] ?? [0, 0, 0];
  const above = RAMP[Math.ceil(place)] ?? below;
  const rest = place - Math.floor(place);
  const mixed = (at: 0 | 1 | 2): number => Math.round(below[at] + (above[at] - below[at]) * rest);
  return [mixed(0), mixed(1), mixed(2)];
}

/** The finite number of a cell; undefined for others. */
export function finite(cell: ValueNumber): number | undefined {
  const value = Number(cell);
  return Number.isFinite(value) ? value : undefined;
}
