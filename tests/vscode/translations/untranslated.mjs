/** Finds texts that are not in the pseudo-language, in which every letter has an accent. */

/** Text that has its own letters in every language. */
const NAMES = new Set([
  ...["Eagleray", "Ray", "Python", "python", "SLURM", "Nsight", "nsys", "pdb", "ssh", "http"],
  ...["AReaL", "NeMo", "RL", "OpenRLHF", "RLinf", "verl", "slime", "miles", "SkyRL"],
  ...["CUDA", "NVIDIA"],
  ...["Ctrl", "Shift", "Alt", "Enter", "Escape", "Tab", "Del"],
  ...["ns", "ms", "kB", "MB", "GB", "TB"],
  "localhost",
]);
/** File names, paths, addresses, environment variables, and all else that has a digit or a sign in it. */
const NO_WORD = /\S*(?:[\w)]\.\w|[/\\=_\d]|--)\S*/g;
/** One letter is a unit or a name. */
const WORD = /[A-Za-z]{2,}/g;

/** The words of `text` that are not translated. */
export function untranslatedWords(text) {
  return (text.replace(NO_WORD, " ").match(WORD) ?? []).filter((word) => !NAMES.has(word));
}

/** The `texts` that have such a word, each once. */
export function untranslated(texts) {
  return [...new Set(texts)].filter((text) => untranslatedWords(text).length > 0);
}

/**
 * The texts of all visible elements in `selector`, for the eye and for screen readers.  It runs in the page.  Code, data
 * and what the user has typed are in no language.
 */
export function visibleTexts(selector) {
  const SPOKEN = ["aria-label", "aria-description", "title", "placeholder", "alt"];
  const CODE = "code, pre, script, style, textarea, .monaco-editor, .command";
  // The facts of a report about a program: its names and numbers.
  const DATA = "td, dd";
  const texts = [];
  const isVisible = (element) => element.matches("option") || element.getClientRects().length > 0;
  const visit = (element) => {
    if (!isVisible(element) || element.matches(DATA)) return;
    for (const name of SPOKEN) texts.push(element.getAttribute(name) ?? "");
    if (element.matches(CODE)) return;
    for (const node of element.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) texts.push(node.textContent);
      else if (node.nodeType === Node.ELEMENT_NODE) visit(node);
    }
  };
  for (const root of document.querySelectorAll(selector)) visit(root);
  return texts.map((text) => text.trim()).filter((text) => text !== "");
}
