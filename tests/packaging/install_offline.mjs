// Installs a .vsix with the real editor, with no network to reach: `install_offline.mjs VSIX FOLDER`.
// Prints the folder of the installed extension.
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { install } from "../vscode/harness/install.mjs";

const call = promisify(execFile);
const [vsix, folder] = process.argv.slice(2);
const extensions = join(folder, "extensions");
const { node, server } = await install("1.139");
const words = [
  ...[join(server, "out", "server-main.js"), "--accept-server-license-terms"],
  ...["--server-data-dir", join(folder, "data"), "--user-data-dir", join(folder, "user")],
  ...["--extensions-dir", extensions, "--install-extension", vsix],
];
const [command, ...args] = [...(await noNetwork()), node, ...words];
const { stdout, stderr } = await call(command, args, { env: { ...process.env, ...deadProxy() } });
const installed = readdirSync(extensions).find((name) => name.startsWith("eagleray.eagleray-"));
if (installed === undefined) throw new Error(stdout + stderr);
console.log(join(extensions, installed));

/** A network namespace of its own, where this machine grants one. */
async function noNetwork() {
  const words = ["unshare", "--map-root-user", "--net"];
  return call(words[0], [...words.slice(1), "true"]).then(
    () => words,
    () => [],
  );
}

/** Where it does not, every way out ends at a port that nothing listens on. */
function deadProxy() {
  const proxy = "http://127.0.0.1:9";
  return { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy };
}
