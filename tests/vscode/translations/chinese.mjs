/** The editor and Eagleray in Chinese: the extension as it is packed, in a server of its own. */

import * as fs from "node:fs";
import * as path from "node:path";
import { openPage } from "../harness/browser.mjs";
import { endWithRun } from "../harness/cleanup.mjs";
import { start } from "../harness/server.mjs";
import { shotsFolder } from "../harness/stage.mjs";
import { Window } from "../harness/window.mjs";
import { makeExtension } from "./translated_extension.mjs";

/** The message of torch when a GPU has no memory left. */
const OUT_OF_MEMORY =
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB";

/** Opens a window in Chinese with the workspace of `stage`; the editor's own texts stay English without its language pack. */
export async function chineseWindow({ version, stage, browser }) {
  const extensionDir = makeExtension();
  endWithRun(() => fs.rmSync(extensionDir, { recursive: true, force: true }));
  fs.writeFileSync(path.join(stage.workspace, "oom.log"), `${OUT_OF_MEMORY}\n`);
  const server = await start({
    version,
    extensionDir,
    folder: stage.workspace,
    settings: stage.settings,
    env: stage.env,
    log: console.log,
    language: { tag: "zh-cn", translate: (text) => text },
  });
  endWithRun(() => server.stop());
  const page = await openPage(browser, server.url());
  const window = new Window(page, shotsFolder(version), "chinese");
  await window.ready();
  return new Chinese(window);
}

class Chinese {
  constructor(window) {
    this.window = window;
    this.page = window.page;
  }

  async showsViews() {
    const welcome = this.page.locator(".sidebar .welcome-view", { hasText: "没有找到 Ray 集群" });
    await this.window.click(this.window.icon(), () => welcome.first().isVisible(), "the panel");
    await this.window.waitFor(
      this.page.locator(".sidebar .pane-header", { hasText: /^已暂停/ }),
      "the title of a view",
    );
    await this.window.shot("views");
  }

  async showsWhyAnAddressIsWrong() {
    const input = this.window.quickInput();
    await this.window.command("Eagleray: 连接集群（SSH、隧道）…", () => input.isVisible());
    await input.fill("127.0.0.1:1");
    await this.page.keyboard.press("Enter");
    await this.window.waitForMessage("没有响应", "the error of the sidecar");
    await this.window.waitForMessage("仍然添加", "the button of the extension");
    await this.window.shot("error");
  }

  async diagnosesLog() {
    const shown = this.page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    await this.page.keyboard.press("Control+Shift+E");
    await this.window.fromMenu(
      this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "oom.log" }).first(),
      /^诊断/,
      () => shown.locator("h1", { hasText: "GPU 显存不足：需要 2.00 GiB。" }).isVisible(),
      "the page names the cause, with the value of the log",
    );
    await this.window.waitFor(shown.getByText(/请减小 micro batch/).first(), "how to fix it");
    await this.window.shot("diagnosis");
  }
}
