// Runs the sessions of tests/nvim_dap: `-- --plugin DIR`, a checkout of nvim-dap; `--nvim PATH` for another Neovim.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { makeNodePackages } from "./packages.mjs";
import { root } from "./paths.mjs";
import { endWithChildren, run } from "./run.mjs";

endWithChildren();
const { values } = parseArgs({ options: { plugin: { type: "string" }, nvim: { type: "string" } } });
const plugin = resolve(values.plugin ?? "");
if (values.plugin === undefined || !existsSync(join(plugin, "lua", "dap.lua"))) {
  console.error(
    "Usage: npm run nvim-dap -- --plugin DIR [--nvim PATH]. DIR is a checkout of nvim-dap.",
  );
  process.exit(2);
}
await Promise.all([makeNodePackages(), makeEnvironment("dev")]);
const nvim = values.nvim ?? join(dirname(await makeEnvironment("nvim")), "nvim");
const args = ["-m", "pytest", "-m", "nvim_dap", "tests/nvim_dap"];
const { code } = await run(interpreter("dev"), args, {
  cwd: root,
  env: {
    EAGLERAY_NVIM: nvim,
    EAGLERAY_NVIM_DAP: plugin,
    PYTHONPATH: join(root, "pybackend"),
    PYTHONUNBUFFERED: "1",
    RAY_AUTH_MODE: "disabled",
  },
  onText: (text) => process.stdout.write(text),
});
process.exitCode = code;
