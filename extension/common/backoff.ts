/** Exponential back-off between attempts. */

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A process that ran this long was healthy: the next failure counts as a first one. */
const HEALTHY_MS = 60_000;

export class Backoff {
  private failures = 0;

  /** The wait after a run of `ranMs` that failed. */
  next(ranMs: number): number {
    if (ranMs >= HEALTHY_MS) {
      this.failures = 0;
    }
    const wait = Math.min(FIRST_MS * 2 ** this.failures, LONGEST_MS);
    this.failures += 1;
    return wait;
  }

  reset(): void {
    this.failures = 0;
  }
}
