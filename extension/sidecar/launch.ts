/** The command line of the sidecar, in a checkout and in an installed extension. */

import * as path from "node:path";
import type { Verbatim } from "../common/texts";

/** The Python libraries in the extension folder of a .vsix; a checkout has none. */
export interface Libraries {
  /** `cp310` … : the versions of Python that there are compiled libraries for; empty in a checkout. */
  readonly tags: readonly string[];
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to the editor's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const LIBRARIES_OF_A_CHECKOUT = ["pygls", "aiohttp", "attrs", "cattrs", "psutil"];

/** Prints the properties of a Python as one line of JSON; runs on any Python 3. */
const PROBE: Verbatim = `
import importlib.util, json, platform, sys, sysconfig
print(json.dumps({
  "version": platform.python_version(),
  "tag": "cp%d%d" % sys.version_info[:2],
  "implementation": sys.implementation.name,
  "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
  "missing": [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]}))
`;

/** The output of the probe. */
export interface ProbeAnswer {
  readonly version: string;
  readonly tag: string;
  readonly implementation: string;
  readonly free_threaded: boolean;
  readonly missing: readonly string[];
}

/** Isolated (-I), and without site-packages (-S) where the libraries are our own. */
function isolation(libraries: Libraries): string[] {
  return libraries.tags.length > 0 ? ["-I", "-S"] : ["-I"];
}

export function probeArguments(libraries: Libraries): string[] {
  const needed = libraries.tags.length > 0 ? [] : LIBRARIES_OF_A_CHECKOUT;
  return [...isolation(libraries), "-c", PROBE, ...needed];
}

/** Why a Python that answered so cannot run the sidecar; undefined when it can. */
export function unusable(answer: ProbeAnswer, libraries: Libraries): Verbatim | undefined {
  if (answer.implementation !== "cpython") {
    return `${answer.implementation} ${answer.version}; CPython is needed`;
  }
  if (libraries.tags.length > 0) {
    if (!libraries.tags.includes(answer.tag) || answer.free_threaded) {
      return `Python ${answer.version}; 3.10 to 3.14 is needed`;
    }
    return undefined;
  }
  if (!/^3\.1\d\./.test(answer.version)) {
    return `Python ${answer.version}; 3.10 or newer is needed`;
  }
  return answer.missing.length > 0 ? `lacks ${answer.missing.join(", ")}` : undefined;
}

/** The sidecar, and the supervisors of runs that it starts, read reports with the nsys of the setting. */
export function sidecarEnvironment(nsys: string): Readonly<Record<string, string>> {
  return nsys.trim() === "" ? {} : { EAGLERAY_NSYS: nsys.trim() };
}

/** `tag` is the Python's, from the probe. */
export function sidecarLaunch(
  extensionFolder: string,
  libraries: Libraries,
  python: string,
  tag: string,
): Launch {
  const start = path.join(extensionFolder, "pybackend/eagleray_start.py");
  const folders =
    libraries.tags.length > 0
      ? ["any", tag].map((name) => path.join(extensionFolder, "_libs", name))
      : [];
  const libs = folders.flatMap((folder) => ["--libs", folder]);
  return { command: python, args: [...isolation(libraries), start, ...libs, "sidecar"] };
}
