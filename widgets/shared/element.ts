// Elements of the page, made in one expression each; text is only ever text.

type Listener = (event: Event) => void;
export type Attributes = Readonly<Record<string, string | number | boolean | Listener | undefined>>;

/** An element with its attributes, what it listens to (`onclick`), and what is inside. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...inside: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.append(...inside);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  }
  return made;
}

export const button = (words: string, title: string, onclick: () => void): HTMLButtonElement =>
  element("button", { type: "button", title, onclick }, words);
