/** The action that was just done, such as “Copied as Markdown.”, shown and read out for a few seconds. */

const SHOWN_MS = 4000;

const announcement = document.getElementById("announcement") ?? document.body;
let forgetting: number | undefined;

export function announce(sentence: string): void {
  announcement.textContent = sentence;
  window.clearTimeout(forgetting);
  forgetting = window.setTimeout(() => {
    announcement.textContent = "";
  }, SHOWN_MS);
}
