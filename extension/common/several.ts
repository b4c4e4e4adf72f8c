/** The same done to all that is selected, one after another. */

import { asEaglerayError, isCancellation, someFailed, type EaglerayError } from "./errors";

/**
 * What fails keeps nothing else from its turn, and becomes one error when all had theirs; a cancellation
 * leaves out the rest.
 */
export async function withEach<T>(
  things: readonly T[],
  nameOf: (thing: T) => string,
  work: (thing: T) => Promise<unknown>,
): Promise<void> {
  const failed: [name: string, error: EaglerayError][] = [];
  for (const thing of things) {
    try {
      await work(thing);
    } catch (error) {
      if (isCancellation(error)) {
        break;
      }
      failed.push([nameOf(thing), asEaglerayError(error)]);
    }
  }
  if (failed.length > 0) {
    throw someFailed(failed, things.length);
  }
}
