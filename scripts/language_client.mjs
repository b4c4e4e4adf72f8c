// Leaves out of the bundle what vscode-languageclient does for a language: Eagleray's sidecar is none.
//
// The client makes an object of each feature when it is created, and asks each what it can and whether the server wants
// it.  For a server without a language none does anything, so objects that answer just that take their place: a third of
// the client is not shipped and not read.  Documents, configuration, folders and progress are as the library has them,
// since the client itself calls them.
//
// The client's own test of the editor's version is left out, too, with the library that it needs: `engines` in
// package.json asks for a newer editor than the client does.

/** The modules of features that a server gets only by naming a capability of a language, a notebook or file operations. */
const FEATURES = [
  "callHierarchy",
  "codeAction",
  "codeLens",
  "colorProvider",
  "completion",
  "declaration",
  "definition",
  "diagnostic",
  "documentHighlight",
  "documentLink",
  "documentSymbol",
  "executeCommand",
  "fileOperations",
  "foldingRange",
  "formatting",
  "hover",
  "implementation",
  "inlayHint",
  "inlineCompletion",
  "inlineValue",
  "linkedEditingRange",
  "notebook",
  "reference",
  "rename",
  "selectionRange",
  "semanticTokens",
  "signatureHelp",
  "typeDefinition",
  "typeHierarchy",
  "workspaceSymbol",
];
const filter = new RegExp(`/vscode-languageclient/lib/common/(?:${FEATURES.join("|")})\\.js$`);

/** A feature that no server has: it announces nothing, and nothing is registered for it. */
const ABSENT = `
class Absent {
  fillClientCapabilities() {}
  initialize() {}
  clear() {}
}
module.exports = new Proxy({}, { get: () => Absent });
`;

/** The answer of `semver` to the client: the editor's version is fine. */
const FINE = "module.exports = () => true;";

export const withoutLanguageFeatures = {
  name: "vscode-languageclient without the features of a language",
  setup: ({ onLoad }) => {
    onLoad({ filter }, () => ({ contents: ABSENT }));
    onLoad({ filter: /\/semver\/functions\/(?:parse|satisfies)\.js$/ }, () => ({ contents: FINE }));
  },
};
