// Which suite runs next: what only reads before all else, the lab beside the others, of these the most costly first.

/** Hands out suites, each once; `ready` has a promise for everything that they need. */
export class Lanes {
  #waiting;
  #ready;
  #settled = new Set();

  constructor(suites, ready) {
    this.#waiting = [...suites];
    this.#ready = ready;
    for (const [name, made] of ready) {
      const settle = () => this.#settled.add(name);
      made.then(settle, settle);
    }
  }

  /**
   * Runs them all by `runSuite`, and gives back those that were not begun when `isOver` was true.
   * While those of "first" run, one other does, for what is installed meanwhile computes as well.  The lab mostly
   * waits; and at its end as many suites run as keep two processors busy, since each of them waits a while, too.
   */
  async run(runSuite, isOver) {
    const work = async (...lanes) => {
      for (let suite; (suite = await this.#next(lanes, isOver)) !== undefined;)
        await runSuite(suite);
    };
    const first = work("first");
    const later = [["common"], ["lab", "common"]].map((lanes) => first.then(() => work(...lanes)));
    await Promise.all([work("common"), ...later]);
    return this.#waiting;
  }

  /** The first for which all is there, so that nobody waits for a download which others do not need. */
  async #next(lanes, isOver) {
    while (!isOver()) {
      const lane = lanes.find((one) => this.#waiting.some((suite) => suite.lane === one));
      const own = this.#waiting.filter((suite) => suite.lane === lane);
      if (own.length === 0) return undefined;
      const suite = own.find((one) => this.#missing(one).length === 0);
      if (suite !== undefined) {
        this.#waiting.splice(this.#waiting.indexOf(suite), 1);
        return suite;
      }
      const made = own.flatMap((one) => this.#missing(one)).map((name) => this.#ready.get(name));
      // What cannot be made is told by the suite that needs it.
      await Promise.race(made.map((one) => one.catch(() => undefined)));
    }
    return undefined;
  }

  #missing(suite) {
    return suite.needs.filter((name) => !this.#settled.has(name));
  }
}
