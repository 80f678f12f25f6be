// Fields of names that the server lists: anything may be typed, what exists is offered.

import { newId } from "../dom";
import { faultWords } from "../faults";
import type { Choice } from "../books";
import { element } from "../../shared/element";
import { text, texts } from "../../shared/shape";
import type { Argument, Field, Row } from "./field";

type Offers = (typed: string) => Promise<readonly Choice[]>;
const PAUSE_MS = 150; // of typing, before what matches is asked for

interface Offering {
  readonly element: HTMLElement;
  readonly box: HTMLInputElement;
}

/** A box that offers names; `chosen` is told of each that is taken. */
export function offering(id: string, label: string, offers: Offers, chosen: (choice: Choice) => void): Offering {
  const list = element("datalist", { id: newId() });
  const box = element("input", { id, list: list.id, autocomplete: "off", spellcheck: "false", "aria-label": label || undefined });
  let known: readonly Choice[] = [];
  let wait: ReturnType<typeof setTimeout> | undefined;
  const said = element("small", { class: "muted", role: "status" });
  const offer = (found: readonly Choice[], words = ""): void => {
    known = found;
    list.replaceChildren(...found.map(({ value, label }) => element("option", { value, label })));
    said.textContent = words;
  };
  const show = (): void => {
    offers(box.value.trim()).then(offer, (fault: unknown) => { offer([], `Nothing to choose from. ${faultWords(fault)}`); });
  };
  const later = (): void => {
    clearTimeout(wait);
    wait = setTimeout(show, PAUSE_MS);
  };
  box.addEventListener("focus", show);
  box.addEventListener("input", (event) => {
    const taken = isTyped(event) ? undefined : known.find(({ value }) => value === box.value);
    if (taken) chosen(taken);
    else later();
  });
  return { box, element: element("span", { class: "offering" }, box, list, said) };
}

/** What is typed may be the beginning of another name; what is picked from the list is meant. */
const isTyped = (event: Event): boolean => event instanceof InputEvent && event.inputType !== "insertReplacementText";

/** One name. */
export function choice({ id, required }: Argument, offers: Offers): Field {
  const { element: offered, box } = offering(id, "", offers, () => undefined);
  box.required = required;
  return { element: offered, value: () => box.value.trim() || undefined, set: (value) => (box.value = text(value)) };
}

/** Several names, each a button that takes it out again. */
export function chips(id: string, label: string, offers: Offers): Row {
  let taken: string[] = [];
  const shown = element("span", { class: "chips" });
  const take = (names: readonly string[]): void => {
    taken = [...new Set(names)];
    shown.replaceChildren(
      ...taken.map((name) => {
        const remove = (): void => { take(taken.filter((known) => known !== name)); };
        return element("button", { type: "button", class: "chip", "aria-label": `Remove ${name}`, title: name, onclick: remove }, element("span", {}, name));
      }),
    );
    shown.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const add = (): void => {
    if (box.value.trim()) take([...taken, box.value.trim()]);
    box.value = "";
  };
  const { element: offered, box } = offering(id, label, offers, add);
  box.addEventListener("change", add);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && box.value && !event.ctrlKey) {
      event.preventDefault();
      add();
    } else if (event.key === "Backspace" && !box.value) take(taken.slice(0, -1));
  });
  return {
    element: element("div", { class: "many" }, shown, offered),
    value: () => (taken.length > 0 ? [...taken] : undefined),
    set: (value: unknown) => { take(typeof value === "string" ? [value] : texts(value)); },
    focus: () => { box.focus(); },
  };
}
