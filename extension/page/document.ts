/** The document of a page of ours in an editor tab: what it may load, and nothing of what it shows. */

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import type { Verbatim } from "../common/texts";

/** Fills `webview` with the page whose script and style are `dist/<name>.js` and `dist/<name>.css`. */
export function drawPage(
  webview: vscode.Webview,
  { extensionUri }: vscode.ExtensionContext,
  name: string,
  title: string,
): void {
  const dist = vscode.Uri.joinPath(extensionUri, "dist");
  const file = (ending: string): string =>
    webview.asWebviewUri(vscode.Uri.joinPath(dist, `${name}.${ending}`)).toString();
  webview.options = { enableScripts: true, localResourceRoots: [dist] };
  webview.html = pageDocument({
    script: file("js"),
    style: file("css"),
    source: webview.cspSource,
    nonce: randomBytes(18).toString("base64"),
    title,
    translations: JSON.stringify(vscode.l10n.bundle ?? {}),
  });
}

interface PageParts {
  readonly script: string;
  readonly style: string;
  /** The editor's name for the source of the extension's files. */
  readonly source: string;
  readonly nonce: string;
  readonly title: string;
  /** The texts of the editor’s language by their English ones, as JSON. */
  readonly translations: string;
}

/**
 * One script of ours by its nonce, one style sheet of ours, nothing from anywhere else: no inline script or style,
 * no picture, no connection.  What it shows comes later, in messages, and is shown as text.
 */
export function pageDocument({
  script,
  style,
  source,
  nonce,
  title,
  translations,
}: PageParts): Verbatim {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${attribute(title)}</title>
<link rel="stylesheet" href="${attribute(style)}">
</head>
<body>
<main id="page" data-translations="${attribute(translations)}"></main>
<div id="announcement" role="status" aria-live="polite"></div>
<script nonce="${attribute(nonce)}" src="${attribute(script)}"></script>
</body>
</html>
`;
}

function attribute(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
