// The tests that passed only at their second try: which, and whether that is too often.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** How many of them a run may have. */
export const MAX_SECOND_TRIES = 3;

/**
 * The second tries of this run, compared with the last run of the same suites, which `file` keeps as
 * `{suite: [test]}`. On a fresh checkout the file is missing, so that only their number counts.
 */
export class SecondTries {
  #file;
  #last;
  #current = new Map();

  constructor(file) {
    this.#file = file;
    this.#last = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  }

  /** Records what a suite needed; an empty list clears what it needed in the last run. */
  add(suite, tests) {
    this.#current.set(suite, tests);
  }

  /** `SUITE: TEST` of each. */
  names() {
    return this.#pairs().map(({ name }) => name);
  }

  /** Why the run fails because of them: one line per reason. */
  failures() {
    const again = this.#pairs().filter(({ suite, test }) => this.#last[suite]?.includes(test));
    const failures = again.map(({ name }) => `${name}: needed a second try in the last run too`);
    const count = this.#pairs().length;
    if (count > MAX_SECOND_TRIES) {
      failures.push(`${count} tests needed a second try; at most ${MAX_SECOND_TRIES} may`);
    }
    return failures;
  }

  /** Keeps them for the next run, beside the tries of the suites that did not run. */
  save() {
    const kept = { ...this.#last, ...Object.fromEntries(this.#current) };
    const entries = Object.entries(kept).filter(([, tests]) => tests.length > 0);
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`);
  }

  #pairs() {
    return [...this.#current].flatMap(([suite, tests]) =>
      tests.map((test) => ({ suite, test, name: `${suite}: ${test}` })),
    );
  }
}
