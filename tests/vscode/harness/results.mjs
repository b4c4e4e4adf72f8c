/** Counts passed and failed tests, and prints them as all our suites do. */

/** `--vscode VERSION` and `--only TEXT` of the command line. */
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
  ended = false;
  exitCode = undefined;

  passed(name, ms) {
    this.passes += 1;
    console.log(`  ok ${name} (${(ms / 1000).toFixed(1)} s)`);
  }

  failed(name, reason) {
    this.failures += 1;
    console.log(`  not ok ${name}\n${String(reason).replace(/^/gm, "      ")}`);
  }

  /** An event from inside the editor. */
  take(event) {
    if (event.passed) this.passed(event.passed, event.ms);
    else if (event.failed) this.failed(event.failed, event.reason);
    else this.ended = true;
  }

  exited(code) {
    this.exitCode = code;
  }

  /** Prints the closing line and exits; a browser that lingers would keep the process alive. */
  end() {
    if (this.passes === 0 && this.failures === 0) this.failed("the run itself", "no test ran");
    console.log(`${this.passes} passed, ${this.failures} failed`);
    process.exit(this.failures > 0 ? 1 : 0);
  }
}
