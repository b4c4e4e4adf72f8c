// Works for hours as users do and tests whether anything grows: `-- --hours N`, `-- --cycles N`, `-- --json FILE`.
import { runModule } from "./python_module.mjs";

await runModule("tests.soak");
