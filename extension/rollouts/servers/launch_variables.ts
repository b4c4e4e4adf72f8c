/** Launch configurations of any debugger that takes an environment, with the variables of a server. */

import { readFile } from "node:fs/promises";

import * as vscode from "vscode";

import { DEBUG_TYPE } from "../../contributions";

/** Python's declares its attributes without `env` in some versions. */
const PYTHON: readonly string[] = ["debugpy", "python"];
const NAME = /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=/gmu;

/**
 * Adds the variables that neither `env` nor `envFile` sets:
 *
 * 1. Not to our own type, whose runs get them without a configuration that contains a key.
 * 2. To one that has `env`.
 * 3. To a type whose extension declares `env`.
 */
export async function withVariables(
  config: vscode.DebugConfiguration,
  variables: Readonly<Record<string, string>>,
  folder: string,
): Promise<vscode.DebugConfiguration> {
  const env: unknown = config["env"] ?? undefined;
  const isObject = typeof env === "object" && !Array.isArray(env);
  if (config.type === DEBUG_TYPE || (env === undefined ? !takesEnv(config.type) : !isObject)) {
    return config;
  }
  const own = await namesIn(config["envFile"], folder);
  const added = Object.entries(variables).filter(([name]) => !own.has(name));
  return { ...config, env: { ...Object.fromEntries(added), ...(env as object | undefined) } };
}

interface DeclaredDebugger {
  readonly type?: unknown;
  readonly configurationAttributes?: {
    readonly launch?: { readonly properties?: Readonly<Record<string, unknown>> };
  };
}

function takesEnv(type: string): boolean {
  return (
    PYTHON.includes(type) ||
    vscode.extensions.all.some(({ packageJSON }) => {
      const { contributes } = packageJSON as {
        contributes?: { debuggers?: readonly DeclaredDebugger[] };
      };
      const declared = contributes?.debuggers?.find((each) => each.type === type);
      return "env" in (declared?.configurationAttributes?.launch?.properties ?? {});
    })
  );
}

/** The variables that files set, of which debuggers let `env` override each. */
async function namesIn(files: unknown, folder: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const file of [files].flat()) {
    if (typeof file === "string" && file !== "") {
      const path = file.replaceAll(
        /\$\{workspaceFolder(?::[^}]*)?\}|\$\{workspaceRoot\}/gu,
        () => folder,
      );
      const text = await readFile(path, "utf8").catch(() => "");
      for (const [, name = ""] of text.matchAll(NAME)) {
        names.add(name);
      }
    }
  }
  return names;
}
