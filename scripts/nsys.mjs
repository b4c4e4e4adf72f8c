// A real nsys for tests: Debian's non-free packages, unpacked into the developer's cache and never shipped.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { cache } from "./paths.mjs";
import { must, retry } from "./run.mjs";

const RELEASE = "bookworm";
const PACKAGES = ["nsight-systems", "nsight-systems-target", "libssh-4"];
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
// Increase this number when the unpacked files change.
const MADE = "1";

const folder = join(cache, "nsys");
/** The command, which may not exist yet. */
export const nsys = join(folder, "bin", "nsys");

/** Unpacks nsys unless it exists; where it isn't available, logs the reason and keeps it for the tests. */
export async function makeNsys(log = console.log) {
  const stamp = join(folder, `.complete-${MADE}`);
  if (existsSync(stamp)) return;
  const made = `${folder}.${process.pid}.new`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  try {
    const mirror = await mirrorOfDebian();
    log("unpacking nsys of Debian's non-free packages");
    await retry("downloading nsys", () => download(mirror, made), log);
    await unpack(made);
    const version = await must(join(made, "bin", "nsys"), ["--version"], { limitMs: 60_000 });
    log(version.trim());
    rmSync(folder, { recursive: true, force: true });
    renameSync(made, folder);
    await placeCommand(folder);
    writeFileSync(stamp, version);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    const reason = reasonOf(error);
    log(`nsys is not available on this machine, so tests that need it are skipped: ${reason}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "why-not.txt"), `${reason}\n`);
  }
}

/** In one line: the error of apt, else the first line of the message. */
function reasonOf({ message }) {
  return (/^E: .*/m.exec(message) ?? /.*/.exec(message))[0].slice(0, 300);
}

/** The Debian mirror in this machine's apt configuration. */
async function mirrorOfDebian() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(`these packages are for linux-x64 only, and this is ${process.arch}`);
  }
  const output = await must("apt-get", ["update", "--print-uris"], { limitMs: 60_000 });
  const match = new RegExp(`^'(\\S+)/dists/${RELEASE}/InRelease'`, "m").exec(output);
  if (match === null) throw new Error(`apt has no mirror of Debian ${RELEASE}`);
  return match[1];
}

/** Downloads with an apt state of its own, so that nothing on this machine changes and nothing is installed. */
async function download(mirror, into) {
  const own = join(into, "apt");
  for (const name of ["lists/partial", "cache/archives/partial", "sources"]) {
    mkdirSync(join(own, name), { recursive: true });
  }
  const source = {
    Types: "deb",
    URIs: mirror,
    Suites: RELEASE,
    Components: "main non-free",
    "Signed-By": KEYRING,
  };
  const lines = Object.entries(source).map(([key, value]) => `${key}: ${value}\n`);
  writeFileSync(join(own, "sources", "nsys.sources"), lines.join(""));
  const options = {
    "Dir::Etc::sourcelist": "/dev/null",
    "Dir::Etc::sourceparts": join(own, "sources"),
    "Dir::State::lists": join(own, "lists"),
    "Dir::Cache": join(own, "cache"),
    "APT::Sandbox::User": "root",
  };
  const args = Object.entries(options).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  // Otherwise an unreachable mirror is only a warning, followed by an unknown package.
  const strict = ["-o", "APT::Update::Error-Mode=any"];
  await must("apt-get", ["update", "-q", ...strict, ...args], { limitMs: 900_000 });
  await must("apt-get", ["download", "-q", ...args, ...PACKAGES], {
    cwd: own,
    limitMs: 1_800_000,
  });
}

async function unpack(made) {
  const own = join(made, "apt");
  for (const name of readdirSync(own).filter((file) => file.endsWith(".deb"))) {
    await must("dpkg-deb", ["-x", join(own, name), join(made, "root")], { limitMs: 900_000 });
  }
  rmSync(own, { recursive: true });
  // nsys looks for the importer beside the real program; without it, nsys ends with 0 and leaves no report.
  symlinkSync(
    "../../nsight-systems/host-linux-x64",
    join(made, "root/usr/lib/x86_64-linux-gnu/nsight-systems/host-linux-x64"),
  );
  await placeCommand(made);
}

/** A script instead of a link, since nsys looks for its parts beside the path by which it is called. */
async function placeCommand(at) {
  const real = join(at, "root/usr/lib/nsight-systems/bin/nsys");
  mkdirSync(join(at, "bin"), { recursive: true });
  writeFileSync(join(at, "bin", "nsys"), `#!/bin/sh\nexec ${real} "$@"\n`);
  chmodSync(join(at, "bin", "nsys"), 0o755);
}
