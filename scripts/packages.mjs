// Installs packages from npm and Debian, and builds the bundle and the .vsix files.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { out, root } from "./paths.mjs";
import { must, retry } from "./run.mjs";

/** Installs node_modules from the lock file, without install scripts, which none of them needs. */
export async function makeNodePackages(log = console.log) {
  const stamp = join(root, "node_modules", ".eagleray-made-from");
  const mark = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === mark) return;
  log("installing the npm packages");
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await retry("npm ci", () => must("npm", args, { cwd: root, limitMs: 900_000 }), log);
  writeFileSync(stamp, mark);
}

/** Chromium and a font for the tests in a browser. */
export async function makeBrowser(log = console.log) {
  const missing = [];
  if (!existsSync("/usr/bin/chromium")) missing.push("chromium");
  if (!existsSync("/usr/share/fonts/truetype/dejavu")) missing.push("fonts-dejavu-core");
  await installFromDebian(missing, log);
}

/** Installs the programs of the lab's hosts; none of them is started on this machine itself. */
export async function makeLab(log = console.log) {
  const programs = {
    "/usr/bin/ssh": "openssh-client",
    "/usr/sbin/sshd": "openssh-server",
    "/usr/sbin/munged": "munge",
    "/usr/sbin/slurmctld": "slurmctld",
    "/usr/sbin/slurmd": "slurmd",
    "/usr/bin/srun": "slurm-client",
    "/usr/sbin/ip": "iproute2",
    "/usr/bin/nsenter": "util-linux",
  };
  const missing = Object.keys(programs).filter((path) => !existsSync(path));
  await installFromDebian([...new Set(missing.map((path) => programs[path]))], log);
}

async function installFromDebian(missing, log) {
  if (missing.length === 0) return;
  const command = ["apt-get", "install", "-y", "--no-install-recommends", ...missing];
  if (process.getuid() !== 0) throw new Error(`Please run: sudo ${command.join(" ")}`);
  log(`installing ${missing.join(", ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  // Debian runs this file to decide whether it may start a newly installed daemon.
  const policy = "/usr/sbin/policy-rc.d";
  const isCreated = !existsSync(policy);
  if (isCreated) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    await retry(
      "apt-get",
      async () => {
        await must("apt-get", ["update", "-q"], { env, limitMs: 900_000 });
        await must(command[0], command.slice(1), { env, limitMs: 1_800_000 });
      },
      log,
    );
  } finally {
    if (isCreated) rmSync(policy, { force: true });
  }
}

/** Installs one version of the editor, a code-server, into the developer's cache. */
export async function makeEditor(version, log = console.log) {
  const script = join(root, "tests", "vscode", "harness", "install.mjs");
  await retry(
    `installing the editor ${version}`,
    () => must("node", [script, version], { cwd: root, limitMs: 1_800_000 }),
    log,
  );
}

/** Builds dist/: the extension, and the chunks that it reads later. */
export async function makeBundle() {
  await must("node", [join(root, "scripts", "build.mjs")], { cwd: root, limitMs: 600_000 });
}

/** Builds the .vsix for one target and returns its file. */
export async function makePackage(target) {
  // A run of the tests packs once for all its suites.
  if (process.env.EAGLERAY_PACKED === "1") {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    return join(out, `eagleray-${version}-${target}.vsix`);
  }
  const script = join(root, "scripts", "package.mjs");
  const output = await must("node", [script, target], { cwd: root, limitMs: 1_800_000 });
  return output.trim().split("\n").at(-1);
}
