/** Counts what passed and failed and prints it in the way of all our suites. */

/** `--vscode VERSION` and `--only WORDS` of the command line. */
export function options() {
  const value = (name) => {
    const at = process.argv.indexOf(name);
    return at === -1 ? undefined : process.argv[at + 1];
  };
  return { version: value("--vscode") ?? "1.139", only: value("--only") ?? "" };
}

export class Results {
  passes = 0;
  failures = 0;
  second = [];
  ended = false;
  exitCode = undefined;

  passed(name, ms) {
    this.passes += 1;
    console.log(`  ok ${name} (${(ms / 1000).toFixed(1)} s)`);
  }

  failed(name, why) {
    this.failures += 1;
    console.log(`  not ok ${name}\n${String(why).replace(/^/gm, "      ")}`);
  }

  /** An event from inside the editor. */
  take(event) {
    if (event.second) this.second.push(event.passed);
    if (event.passed) this.passed(event.passed, event.ms);
    else if (event.failed) this.failed(event.failed, event.why);
    else if (event.said) console.log(`    ${event.said}`);
    else this.ended = true;
  }

  exited(code) {
    this.exitCode = code;
  }

  /** The closing line and the exit code; the process is ended by force, since a browser may linger. */
  end() {
    if (this.passes === 0 && this.failures === 0) this.failed("the run itself", "no test ran");
    for (const name of this.second) console.log(`passed at the second try: ${name}`);
    console.log(`${this.passes} passed, ${this.failures} failed`);
    process.exit(this.failures > 0 ? 1 : 0);
  }
}
