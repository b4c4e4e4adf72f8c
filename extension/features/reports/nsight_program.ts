/** Where Nsight Systems is on this machine. */

import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

import { badSetting, notFound } from "./nsight_errors";
import { newestFirst } from "./nsight_model";

const PROGRAM = "nsys-ui";
/** Below it each version that NVIDIA’s package has installed has a folder. */
const INSTALLED = "/opt/nvidia/nsight-systems";
/** Where a version keeps it, one of them for each kind of processor. */
const PARTS = ["bin", "host-linux-x64", "host-linux-armv8"];
const OTHERS = [
  "/usr/local/cuda/bin",
  "/Applications/NVIDIA Nsight Systems.app/Contents/MacOS",
].map((folder) => join(folder, PROGRAM));

/**
 * 1. The program that the setting names.
 * 2. `nsys-ui` of the PATH, whose folders that are not absolute are left out: they lead into somebody’s files.
 * 3. The newest one below `/opt/nvidia/nsight-systems`.
 * 4. That of CUDA, and the one of a Mac.
 *
 * Raises an error of the catalogue where there is none.
 */
export function nsightProgram(named: string): string {
  if (named !== "") {
    if (!isAbsolute(named) || !isProgram(named)) {
      throw badSetting(named);
    }
    return named;
  }
  const found = [...onPath(), ...installed(), ...OTHERS].find(isProgram);
  if (found === undefined) {
    throw notFound();
  }
  return found;
}

function onPath(): string[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, PROGRAM));
}

function installed(): string[] {
  return newestFirst(namesIn(INSTALLED)).flatMap((version) =>
    PARTS.map((part) => join(INSTALLED, version, part, PROGRAM)),
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // It is not installed in this way.
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
