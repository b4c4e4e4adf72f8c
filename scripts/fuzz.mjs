// Fuzzes every parser of foreign input: `-- --seconds N`, `-- --target NAME`, `-- --replay FILE`.
import { runModule } from "./python_module.mjs";

await runModule("tests.fuzz");
