/** The translations of a page: the editor writes its language's into the page’s document. */

import * as l10n from "@vscode/l10n";

interface Page {
  readonly dataset: { readonly translations?: string };
}

// Unit tests have no document.
const { document } = globalThis as { document?: { getElementById(id: string): Page | null } };
l10n.config({ contents: document?.getElementById("page")?.dataset.translations ?? "{}" });

export { l10n };
