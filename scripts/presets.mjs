// Proposes debug runs for the example scripts of frameworks: `-- --repositories DIR`, `-- --only NAME`, `-- --json FILE`.
import { runModule } from "./python_module.mjs";

await runModule("tests.runs.presets_trial");
