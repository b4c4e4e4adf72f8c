/** Elements of the pages of reports and pictures. */

import { element, withCode } from "../../presets/page/elements";

export { element, withCode };

/** The browser's own button, in the editor's look; `pressed` runs on a click, on Enter and on Space. */
export function button(title: string, pressed: () => void, isMain = false): HTMLButtonElement {
  const made = element("button", { type: "button", class: "button" }, title);
  made.classList.toggle("main", isMain);
  made.addEventListener("click", pressed);
  return made;
}

/** A part of a page with its heading, which names it for screen readers. */
export function section(id: string, title: string, ...parts: readonly HTMLElement[]): HTMLElement {
  const heading = element("h2", { id: `${id}-title` }, title);
  return element("section", { "aria-labelledby": heading.id }, heading, ...parts);
}
