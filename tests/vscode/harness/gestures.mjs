/** Makes each gesture of a story once, and counts those that had to be repeated until their effect was seen. */

import { REPEATABLE } from "./repeatable.mjs";
import { LIMIT_MS, until } from "./until.mjs";

/** A gesture without effect for so long is lost; a run that starts beside other suites took 110 s to its first stop. */
const EFFECT_MS = LIMIT_MS;
/** A gesture that is known to be ignored at times is repeated sooner. */
const REPEATABLE_EFFECT_MS = 4000;
/** After a gesture that failed halfway, such as a menu that closed, no effect will come. */
const FAILED_MS = 300;

const TIMEOUT_MS = LIMIT_MS + 60_000;

/** The gestures of one story, in all of its windows; `repeatable` has the reason for each that may be repeated. */
export class Gestures {
  #repeatable;
  #effectMs;
  #timeoutMs;
  #repeats = new Map();

  constructor(repeatable = REPEATABLE, { effectMs, timeoutMs = TIMEOUT_MS } = {}) {
    this.#repeatable = repeatable;
    this.#effectMs = effectMs;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Makes `gesture` unless its effect is there already, and again where it has none in time; before it is made again,
   * `onRepeat` may keep a picture, and returns what a reader of the failure should know.  A gesture that the window
   * refuses with a message (`isRefused`) is made again as the message asks, and doesn't count.
   */
  async make(gesture, effect, name, { onRepeat = () => "", isRefused = () => false } = {}) {
    const effectMs = this.#effectMs ?? this.#defaultEffectMs(name);
    let hasFailed = false;
    let failure;
    const isDone = async () => {
      if (await effect()) return true;
      if (hasFailed) this.#countRepeat(name, failure, await onRepeat());
      failure = await failureOf(gesture);
      const outcome = async () =>
        (await effect()) ? "effect" : (await isRefused()) ? "refused" : undefined;
      const seen = await until(outcome, "", failure ? FAILED_MS : effectMs).catch(() => undefined);
      hasFailed = seen === undefined;
      return seen === "effect";
    };
    await until(isDone, name, this.#timeoutMs, 50).catch((error) => {
      throw new Error(`${error.message}${failure ? `; last gesture: ${firstLine(failure)}` : ""}`);
    });
  }

  /** `[{name, count, failure, reason, context}]` of the repeated ones; `reason` is undefined where none is listed. */
  repeated() {
    return [...this.#repeats.values()];
  }

  /** Prints the repeated ones; each that isn't listed is a failure. */
  report(results) {
    for (const { name, count, failure, reason, context } of this.repeated()) {
      const text = `gesture repeated: ${name}`;
      const times = `repeated ${count === 1 ? "once" : `${count} times`}`;
      if (reason !== undefined) console.log(`    ${text} (${times}; expected: ${reason})`);
      else results.failed(text, [times, failure, context].filter(Boolean).join("; "));
    }
  }

  #defaultEffectMs(name) {
    return this.#repeatable[name] === undefined ? EFFECT_MS : REPEATABLE_EFFECT_MS;
  }

  #countRepeat(name, failure, context) {
    const count = (this.#repeats.get(name)?.count ?? 0) + 1;
    const reason = this.#repeatable[name];
    const error = failure && firstLine(failure);
    this.#repeats.set(name, { name, count, failure: error, reason, context });
  }
}

/** The error of a gesture that could not be made, else undefined. */
async function failureOf(gesture) {
  try {
    await gesture();
    return undefined;
  } catch (error) {
    return error;
  }
}

function firstLine(error) {
  return error.message.split("\n")[0];
}
