// The host's look taken over: its theme, colours and fonts, language and direction, and the room there is.

import type { Host } from "./host";
import { fields, number, text } from "./shape";
import type { Fields } from "./shape";

const SIDES = ["top", "right", "bottom", "left"] as const;

export function dress(context: Fields, root: HTMLElement = document.documentElement): void {
  const theme = text(context.theme);
  if (theme !== "") root.dataset.theme = theme;
  root.dataset.mode = text(context.displayMode) || "inline";
  const styles = fields(context.styles);
  for (const [name, value] of Object.entries(fields(styles.variables))) root.style.setProperty(name, text(value));
  setFonts(text(fields(styles.css).fonts));
  setLanguage(text(context.locale), root);
  const insets = fields(context.safeAreaInsets);
  for (const side of SIDES) root.style.setProperty(`--inset-${side}`, `${number(insets[side]) ?? 0}px`);
  const room = fields(context.containerDimensions);
  const height = number(room.height) ?? number(room.maxHeight);
  if (height === undefined) root.style.removeProperty("--room");
  else root.style.setProperty("--room", `${height}px`);
}

function setFonts(css: string): void {
  const known = document.getElementById("host-fonts");
  if (css === (known?.textContent ?? "")) return;
  known?.remove();
  const style = document.createElement("style");
  style.id = "host-fonts";
  style.textContent = css;
  document.head.append(style);
}

/** Labels come in the language of the books; the host's own tells in which direction people read. */
function setLanguage(locale: string, root: HTMLElement): void {
  if (locale === "") return;
  const script = scriptOf(locale);
  root.dir = ["Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg"].includes(script) ? "rtl" : "ltr";
}

function scriptOf(locale: string): string {
  try {
    return new Intl.Locale(locale).maximize().script ?? "";
  } catch {
    return "";
  }
}

/** Tells the host how high the view is whenever that changes; returns how to stop. */
export function tellHeight(host: Host, of: Element): () => void {
  let told = 0;
  const observer = new ResizeObserver(() => {
    const height = Math.ceil(of.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    host.notify("size-changed", { height });
  });
  observer.observe(of);
  return () => {
    observer.disconnect();
  };
}
