// Opens, in the editor of `npm run demo`, the panel of Eagleray and the files that EAGLERAY_DEMO_FILES lists as JSON.
const vscode = require("vscode");

exports.activate = async () => {
  for (const file of JSON.parse(process.env.EAGLERAY_DEMO_FILES ?? "[]")) {
    const editor = file.endsWith(".sqlite") ? "eagleray.nsysDatabase" : "default";
    const options = { preview: false };
    await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.file(file), editor, options);
  }
  await vscode.commands.executeCommand("eagleray.pausedWorkers.focus");
};
