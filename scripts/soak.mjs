// Runs for hours and tests that no resource grows: `-- --hours N`, `-- --json FILE`; a user's work, or with
// `--inspected` two ranks that are inspected all the time.
import { makeEnvironment } from "./environments.mjs";
import { runModule } from "./python_module.mjs";

const INSPECTED = "--inspected";
const args = process.argv.slice(2);
if (args.includes(INSPECTED)) {
  await makeEnvironment("proofs");
  await runModule(
    "tests.soak.inspected",
    args.filter((arg) => arg !== INSPECTED),
  );
} else {
  await runModule("tests.soak", args);
}
