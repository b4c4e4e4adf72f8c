/** Start times of the recordings of nsys. */

import type { ProfiledRuns } from "../profile/recordings/messages";

/** The start times of recordings; only of recordings that began while the list was followed. */
export class RecordingTimes {
  private readonly recording = new Map<string, number | undefined>();
  private isFirst = true;

  /** Called with each new list; `now_s` is the time in seconds. */
  update({ runs }: ProfiledRuns, now_s: number): void {
    const now = runs.filter(({ state }) => state === "recording").map(({ run }) => run);
    for (const run of this.recording.keys()) {
      if (!now.includes(run)) {
        this.recording.delete(run);
      }
    }
    for (const run of now) {
      if (!this.recording.has(run)) {
        this.recording.set(run, this.isFirst ? undefined : now_s);
      }
    }
    this.isFirst = false;
  }

  since(run: string): number | undefined {
    return this.recording.get(run);
  }

  get isRecording(): boolean {
    return this.recording.size > 0;
  }
}
