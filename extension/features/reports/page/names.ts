/** Names that a recorded program gave to its kernels and ranges, made fit to be shown as text. */

/** Control characters, line ends, and those that change the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]+/gu;

/** `text` on one line, whole, since a kernel is often told from another by the end of its name. */
export function oneLine(text: string): string {
  return text.replace(UNPRINTABLE, " ").trim();
}
