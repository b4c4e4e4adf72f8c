// Runs a user's work for hours and tests that no resource grows: `-- --hours N`, `-- --cycles N`, `-- --json FILE`.
import { runModule } from "./python_module.mjs";

await runModule("tests.soak");
