// Scores the verdicts of `eagleray stacks` on programs that its rules were not made for: `-- NAME…`, `-- --json FILE`.
import { makeEnvironment } from "./environments.mjs";
import { runModule } from "./python_module.mjs";

await makeEnvironment("proofs");
await runModule("tests.observe.hangs.blind");
