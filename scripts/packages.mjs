// What is installed from npm and Debian, and the parts that are built from it.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "./paths.mjs";
import { must, retry } from "./run.mjs";

/** node_modules as the lock file says; install scripts are not run, none is needed. */
export async function makeNodePackages(log = console.log) {
  const stamp = join(root, "node_modules", ".eagleray-made-from");
  const mark = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === mark) return;
  log("installing the npm packages");
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await retry("npm ci", () => must("npm", args, { cwd: root, limitMs: 300_000 }), log);
  writeFileSync(stamp, mark);
}

/** Chromium and a font for the tests in a browser. */
export async function makeBrowser(log = console.log) {
  const missing = [];
  if (!existsSync("/usr/bin/chromium")) missing.push("chromium");
  if (!existsSync("/usr/share/fonts/truetype/dejavu")) missing.push("fonts-dejavu-core");
  await installFromDebian(missing, log);
}

/** What the hosts of the lab run; nothing of it is started on this machine itself. */
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
  const words = ["apt-get", "install", "-y", "--no-install-recommends", ...missing];
  if (process.getuid() !== 0) throw new Error(`Please run: sudo ${words.join(" ")}`);
  log(`installing ${missing.join(", ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  // This is what Debian asks whether a daemon that was just installed may be started.
  const policy = "/usr/sbin/policy-rc.d";
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    await retry(
      "apt-get",
      async () => {
        await must("apt-get", ["update", "-q"], { env, limitMs: 300_000 });
        await must(words[0], words.slice(1), { env, limitMs: 600_000 });
      },
      log,
    );
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
}

/** The editor of one version, a code-server in the developer's cache. */
export async function makeEditor(version, log = console.log) {
  const script = join(root, "tests", "vscode", "harness", "install.mjs");
  await retry(
    `installing the editor ${version}`,
    () => must("node", [script, version], { cwd: root, limitMs: 600_000 }),
    log,
  );
}

/** What stands in dist/: the extension, and in files of their own what it reads later. */
export async function makeBundle() {
  await must("node", [join(root, "scripts", "build.mjs")], { cwd: root, limitMs: 120_000 });
}

/** The .vsix for one target; returns its file. */
export async function makePackage(target) {
  const script = join(root, "scripts", "package.mjs");
  const output = await must("node", [script, target], { cwd: root, limitMs: 600_000 });
  return output.trim().split("\n").at(-1);
}
