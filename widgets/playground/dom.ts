// What stands in the page, and names for what does not yet.

let made = 0;

/** An id that no other element has. */
export const newId = (): string => `id${++made}`;

/** The element of the page with an id; it stands in index.html. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}
