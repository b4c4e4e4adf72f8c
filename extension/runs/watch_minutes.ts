/** After how many minutes without output a picture of a run is saved. */

/** More than a day without output isn't a sign of a hang. */
export const MAX_WATCH_MINUTES = 1440;

/** 0 for an empty text; undefined for an invalid one. */
export function minutesOf(text: string): number | undefined {
  const minutes = Number(text.trim().replace(",", "."));
  return minutes >= 0 && minutes <= MAX_WATCH_MINUTES ? minutes : undefined;
}
