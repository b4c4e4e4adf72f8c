// The progress of steps that run beside each other: a line that counts seconds, and one for each step that is done.
const ON_TERMINAL_MS = 1000;
const ELSEWHERE_MS = 5000;

export class Progress {
  #since = new Map();
  #isTerminal = process.stdout.isTTY === true;
  #timer = setInterval(() => this.#draw(), this.#isTerminal ? ON_TERMINAL_MS : ELSEWHERE_MS);

  /** Runs a step, whose title names what it gets ready. */
  async of(title, work) {
    this.#since.set(title, Date.now());
    if (this.#isTerminal) this.#draw();
    const done = await work();
    const line = `ready: ${title} (${this.#seconds(title)} s)`;
    this.#since.delete(title);
    console.log(this.#isTerminal ? `\r\x1b[K${line}` : line);
    if (this.#isTerminal) this.#draw();
    return done;
  }

  end() {
    clearInterval(this.#timer);
    this.#since.clear();
  }

  #draw() {
    if (this.#since.size === 0) return;
    const parts = [...this.#since.keys()].map((title) => `${title} (${this.#seconds(title)} s)`);
    const line = `starting: ${parts.join(", ")}`;
    if (this.#isTerminal)
      process.stdout.write(`\r\x1b[K${line.slice(0, process.stdout.columns - 1)}`);
    else console.log(line);
  }

  #seconds(title) {
    return Math.round((Date.now() - this.#since.get(title)) / 1000);
  }
}
