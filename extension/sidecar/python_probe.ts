/** The search for a Python on the real machine: settings, folders, and a probe of each candidate. */

import { execFile, type ExecFileException } from "node:child_process";
import { access, constants, readdir, realpath } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";

import { setting } from "../settings";
import { activeEnvironment } from "../workspace";
import type { ProbeResult, PythonSearchInput } from "./interpreter";
import { probeArguments, unusable, type Libraries, type ProbeAnswer } from "./launch";
import type { Verbatim } from "../common/texts";

/** A Python on a slow network file system takes seconds for its first start. */
const PROBE_TIME_LIMIT_MS = 20_000;

/** `ending` ends a running probe. */
export async function pythonSearchInput(
  extensionFolder: string,
  libraries: Libraries,
  log: (line: string) => void,
  ending = new AbortController().signal,
): Promise<PythonSearchInput> {
  const folders = (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);
  const real = await Promise.all(folders.map((folder) => realpath(folder).catch(() => folder)));
  return {
    setting: setting("python"),
    environ: process.env,
    home: os.homedir(),
    extensionFolder,
    workspaceFolders: [...new Set([...folders, ...real])],
    trusted: vscode.workspace.isTrusted,
    activeEnvironment,
    executable,
    names,
    probe: (python) => probe(python, libraries, ending),
    log,
  };
}

/** The libraries that a .vsix brings along; a checkout has none. */
export async function bundledLibraries(extensionFolder: string): Promise<Libraries> {
  const folders = await names(path.join(extensionFolder, "_libs"));
  return { tags: folders.filter((name) => /^cp3\d+$/.test(name)) };
}

async function executable(file: string): Promise<string | undefined> {
  try {
    await access(file, constants.X_OK);
    return await realpath(file);
  } catch {
    return undefined;
  }
}

async function names(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return [];
  }
}

/** Runs a candidate in the home folder, so that nothing of a workspace is imported by it. */
function probe(python: string, libraries: Libraries, signal: AbortSignal): Promise<ProbeResult> {
  const options = {
    cwd: os.homedir(),
    timeout: PROBE_TIME_LIMIT_MS,
    encoding: "utf8",
    signal,
  } as const;
  return new Promise((resolve) => {
    const child = execFile(python, probeArguments(libraries), options, (error, stdout) => {
      resolve(error === null ? judged(stdout, libraries) : { unusable: failure(error) });
    });
    child.stdin?.end();
  });
}

function failure({ killed, message }: ExecFileException): Verbatim {
  return killed === true
    ? `does not answer within ${PROBE_TIME_LIMIT_MS / 1000} s`
    : `fails: ${message}`;
}

function judged(stdout: string, libraries: Libraries): ProbeResult {
  let answer: ProbeAnswer;
  try {
    answer = JSON.parse(stdout) as ProbeAnswer;
  } catch {
    return { unusable: "is not a Python" };
  }
  const why = unusable(answer, libraries);
  return why === undefined ? { version: answer.version, tag: answer.tag } : { unusable: why };
}
