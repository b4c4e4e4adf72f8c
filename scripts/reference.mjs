// Prints docs/reference.md from package.json and package.nls.json: the tables of commands, keys and settings. `--check` only
// says whether it is stale. What a command does is the last column of its row, which is kept; a new command gets one by hand.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "./paths.mjs";

const file = join(root, "docs", "reference.md");
const texts = JSON.parse(readFileSync(join(root, "package.nls.json"), "utf-8"));
const { contributes } = JSON.parse(readFileSync(join(root, "package.json"), "utf-8"), localized);
const printed = readFileSync(file, "utf-8");
const MISSING = "TODO: say what it does.";

const keys = new Map(contributes.keybindings.map(({ command, key }) => [command, key]));
const titles = new Map(contributes.commands.map(({ command, title }) => [command, title]));
const views = new Map(contributes.views.eagleray.map(({ id, name }) => [id, name]));
const text = `# Reference

Printed from package.json by \`npm run reference\`; only the column *What it does* is written by hand.

## Commands

A command on a row applies to all selected rows, with one question and one message.

| Command | Id | Key | What it does |
| --- | --- | --- | --- |
${contributes.commands.map(commandRow).join("\n")}

## Keys

Keys of a view work while one of its rows has the focus. Each can be changed in *Preferences: Open Keyboard Shortcuts*.

| Key | On macOS | Command | Where |
| --- | --- | --- | --- |
${contributes.keybindings.map(keyRow).join("\n")}

## Settings

${contributes.configuration.map(settingsSection).join("\n\n")}
`;

if (text.includes(MISSING)) {
  console.error(`docs/reference.md: a command has no text; search for “${MISSING}” after`);
  console.error("`npm run reference`.");
  process.exitCode = 1;
}
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (text !== printed) {
  console.error("docs/reference.md is stale: run `npm run reference`");
  process.exitCode = 1;
}

/** The text of package.nls.json in place of its key. */
function localized(_, value) {
  const key = /^%(.+)%$/.exec(value)?.[1];
  return key === undefined ? value : texts[key];
}

function commandRow({ command, title }) {
  const key = keys.has(command) ? `\`${keys.get(command)}\`` : "";
  return `| ${title} | \`${command}\` | ${key} | ${meaning(command)} |`;
}

function meaning(command) {
  const row = printed.split("\n").find((line) => line.includes(`| \`${command}\` `));
  return row === undefined ? MISSING : row.split("|").at(-2).trim();
}

function keyRow({ command, key, mac = key, when }) {
  const view = views.get(/focusedView == (\S+)/.exec(when)?.[1]);
  const where = view === undefined ? "everywhere" : `view *${view}*`;
  return `| \`${key}\` | \`${mac}\` | ${titles.get(command)} | ${where} |`;
}

function settingsSection({ title, properties }) {
  return `### ${title}

| Setting | Default | Meaning |
| --- | --- | --- |
${Object.entries(properties).map(settingRow).join("\n")}`;
}

function settingRow([name, setting]) {
  const text = setting.markdownDescription ?? setting.description;
  const values = (setting.enum ?? []).map(
    (value, index) => `\`${value}\`: ${setting.enumDescriptions?.[index] ?? ""}`,
  );
  const all = [text, ...values].join(" · ").replaceAll("\n", " ").replaceAll("|", "\\|");
  return `| \`${name}\` | \`${JSON.stringify(setting.default)}\` | ${all} |`;
}
