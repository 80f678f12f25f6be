// A refusal, with what would mend it one click away.

import { pretty } from "./json";
import { element } from "../shared/element";
import { isFields, text, texts, type Fields } from "../shared/shape";
import { called } from "../shared/words";
import type { Call } from "./server";

const MOST_REPAIRS = 12;

/** A call that may do better, and what is different about it. */
interface Repair {
  readonly words: string;
  readonly asked: Fields;
}

export function refusal({ answer, asked }: Call, retry: (asked: Fields) => void): HTMLElement {
  const repairs = repairsOf(answer, asked);
  const facts = ["error_type", "field", "got", "retry_after_ms", "error_id"].filter((name) => answer[name] !== undefined);
  return element(
    "div",
    { class: "refusal", role: "alert" },
    element("p", { class: "words" }, text(answer.error)),
    ...(repairs.length > 0 ? [element("div", { class: "repairs" }, ...repairs.map((repair) => button(repair, retry)))] : []),
    element("dl", { class: "plain" }, ...facts.flatMap((name) => [element("dt", {}, called(name)), element("dd", {}, short(answer[name]))])),
  );
}

const button = ({ words, asked }: Repair, retry: (asked: Fields) => void): HTMLElement =>
  element("button", { type: "button", class: "repair", onclick: () => { retry(asked); } }, words);

const short = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** What the refusal names: a closer name, else one that exists; its example; or the same again where it passes. */
export function repairsOf(answer: Fields, asked: Fields): readonly Repair[] {
  const got = text(answer.got);
  const close = texts(answer.did_you_mean);
  const names = close.length > 0 ? close : texts(answer.valid);
  const swaps = got ? names.slice(0, MOST_REPAIRS).map((name) => ({ words: name, asked: swapped(asked, got, name) })) : [];
  const example = exampleOf(answer, asked);
  return [
    ...swaps.filter((repair) => pretty(repair.asked) !== pretty(asked)),
    ...(example ? [{ words: `Try ${JSON.stringify(answer.example)}`, asked: example }] : []),
    ...(answer.retryable === true ? [{ words: "Again", asked }] : []),
  ];
}

function exampleOf(answer: Fields, asked: Fields): Fields | undefined {
  const example = answer.example;
  const field = text(answer.field);
  if (isFields(example)) return { ...asked, ...example };
  return example !== undefined && field in asked ? { ...asked, [field]: example } : undefined;
}

/** A call with one name in the place of another, as a value or as a name of an argument. */
function swapped(asked: Fields, from: string, to: string): Fields {
  const swap = (value: unknown): unknown => {
    if (value === from) return to;
    if (Array.isArray(value)) return value.map((one: unknown) => swap(one) ?? null);
    if (!isFields(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name === from ? to : name, swap(one)]));
  };
  const made = swap(asked);
  return isFields(made) ? made : asked;
}
