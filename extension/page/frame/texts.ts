/** Texts of programs as display text. */

/** Control characters, line ends, and those that change the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]+/gu;

/** `text` on one line, not shortened: kernels often differ only at the end of their names. */
export function singleLine(text: string): string {
  return text.replace(UNPRINTABLE, " ").trim();
}
