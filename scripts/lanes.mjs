// The order of suites: static checks first, the lab beside the others, of these the longest first.

/** Schedules suites, each once; `ready` has a promise for each of their requirements. */
export class Lanes {
  #waiting;
  #ready;
  #settled = new Set();

  constructor(suites, ready) {
    this.#waiting = [...suites];
    this.#ready = ready;
    for (const [name, promise] of ready) {
      const settle = () => this.#settled.add(name);
      promise.then(settle, settle);
    }
  }

  /**
   * Runs them with `runSuite`; returns those that had not started when `isOver` became true.
   * Beside the suites of "first" only one other runs, since installations use the processors as well.  Then three of
   * "common" run, beside the lab, which mostly waits; after the lab four do: each waits for processes and for time
   * limits, so that fewer leave two processors idle.
   */
  async run(runSuite, isOver) {
    const work = async (...lanes) => {
      for (let suite; (suite = await this.#next(lanes, isOver)) !== undefined;)
        await runSuite(suite);
    };
    const first = work("first");
    const later = [["common"], ["common"], ["lab", "common"]].map((lanes) =>
      first.then(() => work(...lanes)),
    );
    await Promise.all([work("common"), ...later]);
    return this.#waiting;
  }

  /** The first suite whose requirements are ready, so that no suite waits for another's download. */
  async #next(lanes, isOver) {
    while (!isOver()) {
      const lane = lanes.find((name) => this.#waiting.some((suite) => suite.lane === name));
      const inLane = this.#waiting.filter((suite) => suite.lane === lane);
      if (inLane.length === 0) return undefined;
      const suite = inLane.find((each) => this.#missing(each).length === 0);
      if (suite !== undefined) {
        this.#waiting.splice(this.#waiting.indexOf(suite), 1);
        return suite;
      }
      const missing = inLane.flatMap((each) => this.#missing(each));
      // The suite that needs it reports a failed requirement.
      await Promise.race(missing.map((name) => this.#ready.get(name).catch(() => undefined)));
    }
    return undefined;
  }

  #missing(suite) {
    return suite.needs.filter((name) => !this.#settled.has(name));
  }
}
