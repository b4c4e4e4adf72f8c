/** Makes elements of a page; every text is a text node, never markup. */

export type Child = Node | string;

/** Attributes by name; one that is undefined is left out. */
type Attributes = Readonly<Record<string, string | undefined>>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) {
      made.setAttribute(name, value);
    }
  }
  // A string becomes a text node.
  made.append(...children);
  return made;
}

/** Shows text between backticks, a command, as code. */
export function withCode(text: string): Child[] {
  return text.split("`").map((part, at) => (at % 2 === 0 ? part : element("code", {}, part)));
}

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
