/** Fills in the texts that a page gets from the editor, as `l10n.t` does there. */

/** `{0}`, `{1}` … are filled in. */
export function filled(text: string, ...values: readonly (string | number)[]): string {
  return text.replace(/\{(\d)\}/gu, (whole, at: string) => String(values[Number(at)] ?? whole));
}
