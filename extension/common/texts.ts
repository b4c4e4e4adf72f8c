/** Display text: untrusted text made plain, counts, durations, and the texts of a row. */

/** Text that no user reads as a sentence: for the log, code, a path.  It isn't translated. */
export type Verbatim = string & Record<never, never>;

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

/** Measured in the editor: the room of a row in a side bar of 300 px, what each level takes of it, and characters (of labels broad ones). */
const ROW_PX = 254;
const LEVEL_PX = 34;
const GAP_PX = 8;
const LABEL_CHARACTER_PX = 7.6;
const DESCRIPTION_CHARACTER_PX = 5.3;
const SHORTEST_LABEL = 12;

/** How many characters of a label leave room for the whole description; `level` is 0 for rows without a parent. */
export function labelRoom(description: string, level: number): number {
  const room = ROW_PX - level * LEVEL_PX - GAP_PX - description.length * DESCRIPTION_CHARACTER_PX;
  return Math.max(SHORTEST_LABEL, Math.floor(room / LABEL_CHARACTER_PX));
}

/** "WorkerDict_…orker_0:3": without the middle, since names of workers differ at their ends. */
export function shortened(name: string, limit: number): string {
  const half = Math.floor((limit - 1) / 2);
  return name.length > limit
    ? `${name.slice(0, limit - 1 - half)}…${name.slice(name.length - half)}`
    : name;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "12 s", "1 m 20 s", "2 h 5 m", "3 d 4 h", as `duration_text` of Python. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE) {
    return `${whole} s`;
  }
  if (whole < HOUR) {
    return unitPair(whole, MINUTE, "m", 1, "s");
  }
  return whole < DAY
    ? unitPair(whole, HOUR, "h", MINUTE, "m")
    : unitPair(whole, DAY, "d", HOUR, "h");
}

/** "40 s", "41 m", "2 h 5 m": an estimate, in which seconds beyond a minute mean nothing. */
export function roughDuration(seconds: number): string {
  return duration(seconds < MINUTE ? seconds : seconds - (seconds % MINUTE));
}

/** "1 m 20 s", or "2 m" without a remainder. */
function unitPair(
  whole: number,
  large: number,
  largeName: string,
  small: number,
  smallName: string,
): string {
  const rest = Math.floor((whole % large) / small);
  return `${Math.floor(whole / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ""}`;
}

export interface RowTexts {
  /** The same for the same thing after a refresh, so that selection and expansion stay. */
  readonly id: string;
  readonly label: string;
  readonly description: string;
  /** One fact a line. */
  readonly tooltip: string;
  /** The text that a screen reader reads instead of label and description. */
  readonly spoken: string;
  readonly icon: string;
  /** The id of a theme colour for the icon. */
  readonly color?: string;
  /** Which menus the row has. */
  readonly context: string;
  readonly children: "none" | "collapsed" | "expanded";
}

/** "a · b · c" of those that are not empty. */
export function dotted(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

/** "a, b, c" of those that are not empty, each once, as one would say it. */
export function spokenText(...parts: readonly string[]): string {
  return [...new Set(parts.filter((part) => part !== ""))].join(", ");
}

/** Lines of a tooltip; those that came from a cluster are made plain one by one. */
export function lines(...parts: readonly string[]): string {
  return parts
    .filter((part) => part !== "")
    .map((part) => plain(part, 500))
    .join("\n");
}
