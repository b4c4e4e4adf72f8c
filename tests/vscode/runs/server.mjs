/** An inference server in the editor: started from the palette, used by terminals, kept over a reload, restarted and stopped. */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { ROOT } from "../harness/ray.mjs";

const ENGINE = path.join(os.homedir(), ".cache", "eagleray-dev", "engine", "bin", "python");
const PYTHON = process.env.EAGLERAY_ENGINE_PYTHON ?? ENGINE;
const PROGRAM = `#!/bin/sh
# As llama.cpp's server, with the model of the tests.
while [ $# -gt 0 ]; do
  if [ "$1" = --port ]; then port=$2; fi
  shift
done
cd "${ROOT}" && exec "${PYTHON}" -m tests.engine --port "$port"
`;
const READY = /llama\.cpp.*ready · 127\.0\.0\.1:\d+/;

export function serverSteps({ stage, window, test }) {
  const { page } = window;
  const row = (text) => window.rowOf("Runs", text);
  const terminal = page.locator(".part.panel .xterm-rows");
  const title = (text) => page.locator(".quick-input-title", { hasText: text });
  const answer = async (value, next) => {
    await window.quickInput().fill(value);
    await window.key("Enter", next, `“${value}” is the answer`);
  };

  /** Lines are wrapped anywhere. */
  const prints = async (text) =>
    (await terminal.allTextContents()).join("").replace(/\s/g, "").includes(text);

  /** Where the server is ready, as its row shows it. */
  const address = async () => /127\.0\.0\.1:\d+/.exec(await row(READY).first().textContent())[0];
  const url = async () => `http://${await address()}`;

  let baseUrl;

  /** Whether a process was started with the server's variables. */
  const isUsedBy = (pid) =>
    fs
      .readFileSync(`/proc/${pid}/environ`, "utf8")
      .split("\0")
      .includes(`OPENAI_BASE_URL=${baseUrl}`);

  async function start() {
    await test("“Start Inference Server…” lists a server that terminals use as soon as it is ready", async () => {
      const program = path.join(stage.workspace, "llama-server");
      fs.writeFileSync(program, PROGRAM, { mode: 0o755 });
      await window.openPanel();
      const engines = title("Select the engine");
      await window.command("Eagleray: Start Inference Server", () => engines.isVisible());
      await window.shot("server-engines");
      await answer("Other Command", () => title("Enter the command").isVisible());
      const places = title("Select where");
      await answer("./llama-server --model tests.gguf", () => places.isVisible());
      await window.shot("server-places");
      await answer("This Machine", async () => !(await places.isVisible()));
      await window.waitFor(row(READY), "the server, which is ready");
      baseUrl = `${await url()}/v1`;
      await window.shot("server-ready");
      await window.command(
        "Terminal: Create New Terminal",
        async () => (await page.locator(".xterm-helper-textarea:focus").count()) === 1,
      );
      await window.gesture(
        () =>
          page.keyboard.type(
            'echo "<$OPENAI_BASE_URL>" "<$ANTHROPIC_BASE_URL>" "<$AREAL_LLM_SERVER_ADDRS>" ${#OPENAI_API_KEY}\n',
          ),
        async () => prints(`<${await url()}/v1><${await url()}><${await address()}>`),
        "the terminal has the variables",
      );
      await window.shot("server-terminal");
      await window.command(
        "Terminal: Kill the Active Terminal Instance",
        async () => !(await prints("/v1>")),
      );
    });
  }

  async function afterReload() {
    await test("the server outlives the reload, and shows its log", async () => {
      await window.openPanel();
      await window.waitFor(row(READY), "the server, which is still ready");
      const said = async () => (await prints("listeningonhttp")) || (await prints("running."));
      await window.click(row(READY), said, "its log is shown");
      await window.shot("server-log");
    });
  }

  async function end() {
    await test("the server restarts and stops", async () => {
      await window.openPanel();
      await window.clickRowButton(
        row(READY),
        "Restart Run",
        async () => (await row(/llama\.cpp/).count()) === 2,
        "it was stopped and started again",
      );
      await window.waitFor(row(READY), "the server, which is ready again");
      await window.shot("server-restarted");
      await window.clickRowButton(
        row(READY),
        "Stop Run",
        async () => (await row(/llama\.cpp.*cancelled/).count()) === 2,
        "the server is stopped",
      );
      await window.shot("server-stopped");
    });
  }

  return { start, afterReload, end, isUsedBy };
}
