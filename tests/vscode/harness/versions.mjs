/** The editors that the tests and the demo run: code-server's builds of VS Code, by VS Code's version. */

/**
 * `codeServer` is the npm version; `node` is the npm version of the Node that it needs, or "" for the
 * Node that runs this; `native` are the modules that are built here (without them the server works, but
 * writes no logs and floods the console).
 */
export const VERSIONS = {
  1.139: {
    codeServer: "4.139.1",
    node: "24.21.0",
    native: ["@vscode/spdlog", "@vscode/native-watchdog"],
  },
  1.105: {
    codeServer: "4.105.1",
    node: "",
    native: ["@vscode/spdlog", "native-watchdog", "node-pty"],
  },
};

export const NEWEST = "1.139";
