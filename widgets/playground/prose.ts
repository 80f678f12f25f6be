// Prose as finance teams write it into their books: headings, paragraphs, lists, words in bold and code.

import { element } from "../shared/element";

const HEADING = /^#+ /;
const ITEM = /^[-*] /;
const MARKED = /(\*\*[^*]+\*\*|`[^`]+`)/;

/** Lines that follow each other are one paragraph, a blank one ends it; what is not marked up stands as it is. */
export function prose(written: string): HTMLElement {
  return element("div", { class: "prose" }, ...written.split(/\n\s*\n/).map((part) => part.trim()).filter(Boolean).flatMap(block));
}

function block(part: string): readonly HTMLElement[] {
  const [first = "", ...rest] = part.split("\n");
  if (HEADING.test(first)) {
    const heading = element("h4", {}, ...inline(first.replace(HEADING, "")));
    return rest.length > 0 ? [heading, ...block(rest.join("\n"))] : [heading];
  }
  const items = part.split(/\n(?=[-*] )/);
  const lead = ITEM.test(first) ? [] : items.splice(0, 1);
  return [
    ...lead.map((words) => element("p", {}, ...inline(words))),
    ...(items.length > 0 ? [element("ul", {}, ...items.map((item) => element("li", {}, ...inline(item.replace(ITEM, "")))))] : []),
  ];
}

function inline(words: string): readonly (Node | string)[] {
  return words.replace(/\s*\n\s*/g, " ").split(MARKED).map((part) => {
    if (part.startsWith("**") && part.length > 4) return element("strong", {}, part.slice(2, -2));
    return part.startsWith("`") && part.length > 2 ? element("code", {}, part.slice(1, -1)) : part;
  });
}
