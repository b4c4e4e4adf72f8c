/** The display language of an editor's server, with a language pack that is made of the editor's own texts. */

import * as fs from "node:fs";
import * as path from "node:path";

/**
 * Installs a language pack whose texts are `translate(text)` of the English ones, and returns the arguments with which
 * the server uses it.  Without a pack the editor would stay English, and so would all extensions.  A pack without an
 * extension that it comes from would be an error, after which the server lists no extension.
 */
export function useLanguage(editor, folders, { tag, translate }) {
  const read = (name) => JSON.parse(fs.readFileSync(path.join(editor.server, "out", name), "utf8"));
  const english = read("nls.messages.json").values();
  const contents = Object.fromEntries(
    read("nls.keys.json").map(([module, keys]) => [
      module,
      Object.fromEntries(keys.map((key) => [key, translate(english.next().value)])),
    ]),
  );
  const file = path.join(folders.home, "main.i18n.json");
  fs.writeFileSync(file, JSON.stringify({ contents }));
  const pack = {
    hash: tag,
    extensions: [{ extensionIdentifier: { id: "eagleray.language-pack" }, version: "1.0.0" }],
    translations: { vscode: file },
    label: tag,
  };
  // As the server lists the language packs that are installed.
  fs.writeFileSync(path.join(folders.user, "languagepacks.json"), JSON.stringify({ [tag]: pack }));
  return ["--locale", tag];
}
