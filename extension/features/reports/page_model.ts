/** The document that holds the page of a report: what it may load, and nothing else. */

export interface PageParts {
  readonly script: string;
  readonly style: string;
  /** What the editor calls the source of the extension's files. */
  readonly source: string;
  readonly nonce: string;
  readonly title: string;
}

/**
 * One script of ours by its nonce, one style sheet of ours, nothing from anywhere else: no inline script or style,
 * no picture, no connection.  All that a report says comes later, by messages, and is shown as text.
 */
export function pageDocument({ script, style, source, nonce, title }: PageParts): string {
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
<main id="page"></main>
<div id="said" role="status" aria-live="polite"></div>
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
