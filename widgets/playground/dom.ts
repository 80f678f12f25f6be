// Elements, made in one expression each; text is only ever text.

import { element } from "../shared/element";

type Listener = (event: Event) => void;
type Has = Readonly<Record<string, string | number | boolean | Listener | undefined>>;

/** An element with its attributes, what it listens to (`onclick`), and what is inside. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  has: Has = {},
  ...inside: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = element(tag, {}, ...inside);
  for (const [name, value] of Object.entries(has)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  return made;
}

let made = 0;

/** An id that no other element has. */
export const newId = (): string => `id${++made}`;

/** The element of the page with an id; it stands in index.html. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}
