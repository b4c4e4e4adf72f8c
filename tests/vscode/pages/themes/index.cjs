// Runs in the extension host: writes what the editor gives every page, in each theme, to the file EAGLERAY_THEMES.
const fs = require("node:fs");
const vscode = require("vscode");

const THEMES = [
  "Default Dark Modern",
  "Default Light Modern",
  "Default High Contrast",
  "Default High Contrast Light",
];
const PAGE = `<!DOCTYPE html><html><body><script>
const api = acquireVsCodeApi();
const report = () => {
  const style = document.getElementById("_defaultStyles");
  const { style: { cssText } } = document.documentElement;
  api.postMessage({ kind: document.body.className, variables: cssText, style: style.textContent });
};
new MutationObserver(report).observe(document.body, { attributes: true });
report();
</script></body></html>`;

exports.run = async () => {
  const configuration = vscode.workspace.getConfiguration("workbench");
  const panel = vscode.window.createWebviewPanel("themes", "Themes", 1, { enableScripts: true });
  const found = {};
  for (const theme of THEMES) {
    await configuration.update("colorTheme", theme, true);
    found[theme] = await pageIn(panel.webview);
  }
  fs.writeFileSync(process.env.EAGLERAY_THEMES, JSON.stringify(found));
};

/** What a page that is drawn anew gets. */
async function pageIn(webview) {
  // The page hears of a theme after the configuration has changed.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  return await new Promise((resolve) => {
    const listening = webview.onDidReceiveMessage((message) => {
      listening.dispose();
      resolve(message);
    });
    webview.html = `${PAGE}<!-- ${Date.now()} -->`;
  });
}
