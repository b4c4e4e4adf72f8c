/** Everything that a run starts ends with it, also when the run is told to end. */

const owned = [];

/** Runs `end` when the run ends, in reverse order of these calls. */
export function endWithRun(end) {
  owned.push(end);
}

/** Ends all; a failure to end one thing keeps none of the others. */
export async function endAll() {
  for (const end of owned.splice(0).reverse()) {
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

// What nobody has caught ends the run as well, but not before all is ended.
for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.once(event, (error) => {
    console.error(error);
    void endAll().then(() => process.exit(1));
  });
}
