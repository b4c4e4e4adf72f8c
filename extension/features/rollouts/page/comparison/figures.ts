/** Numbers of a comparison as display text, and the level of a difference. */

/** The size of a difference from which each level begins: kernels, precision, weights, and beyond. */
export const LEVELS = [1e-3, 1e-2, 1e-1, 1] as const;

/** 0 below the first level. */
export function levelOf(delta: number): number {
  return LEVELS.filter((least) => Math.abs(delta) >= least).length;
}

/** "0.0152", "1.94e-4": three digits. */
export function figure(value: number): string {
  const size = Math.abs(value);
  return size === 0 || size >= 1e-3
    ? String(Number(value.toPrecision(3)))
    : value.toExponential(2).replace(/\.?0+e/, "e");
}

export function fixed(value: number, digits: number): string {
  return value.toFixed(digits);
}
