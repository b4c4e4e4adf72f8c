/** Ends everything that a run has started, also when the run is interrupted. */

const cleanups = [];

/** Runs `end` when the run ends, in reverse order of these calls. */
export function endWithRun(end) {
  cleanups.push(end);
}

/** Ends everything; one failure doesn't prevent the others. */
export async function endAll() {
  for (const end of cleanups.splice(0).reverse()) {
    try {
      await end();
    } catch (error) {
      console.error(`ending: ${error.message}`);
    }
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    void endAll().then(() => process.exit(1));
  });
}

// An uncaught error ends the run as well, after the cleanup.
for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.once(event, (error) => {
    console.error(error);
    void endAll().then(() => process.exit(1));
  });
}
