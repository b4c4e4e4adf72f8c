/** Texts that came from a cluster, made fit to be shown: never markup, icons or escapes. */

const ZERO_WIDTH_SPACE = "\u200b";

/** Control characters, line ends, and those that change the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]+/gu;

/**
 * `text` on one line, at most `limit` characters long, in which the editor sees neither a link
 * `[…](…)` nor an icon `$(…)`: notifications, status bar and quick picks would draw them.
 */
export function plain(text: string, limit = 200): string {
  const line = text.replace(UNPRINTABLE, " ").trim();
  const short = line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
  return short.replaceAll("$(", `$${ZERO_WIDTH_SPACE}(`).replaceAll("](", `]${ZERO_WIDTH_SPACE}(`);
}

/** "1 worker", "2 workers". */
export function count(number: number, noun: string, ending = "s"): string {
  return `${number} ${noun}${number === 1 ? "" : ending}`;
}
