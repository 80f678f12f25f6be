// Elements of the page, made with their class, attributes and what stands inside.

export type Attributes = Readonly<Record<string, string | number | undefined>>;

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...inside: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, String(value));
  made.append(...inside);
  return made;
}

export function button(words: string, title: string, pressed: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", title }, words);
  made.addEventListener("click", pressed);
  return made;
}
