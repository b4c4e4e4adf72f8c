/** Times that something took or takes, for people. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "12 s", "3 min", "2 h 5 min", "3 d". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE) {
    return `${whole} s`;
  }
  if (whole < HOUR) {
    return `${Math.floor(whole / MINUTE)} min`;
  }
  if (whole < DAY) {
    const minutes = Math.floor((whole % HOUR) / MINUTE);
    return `${Math.floor(whole / HOUR)} h${minutes > 0 ? ` ${minutes} min` : ""}`;
  }
  return `${Math.floor(whole / DAY)} d`;
}
