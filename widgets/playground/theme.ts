// The theme: the system's until another is chosen.

const KEPT = "tieout.theme";
const NEXT = { system: "light", light: "dark", dark: "system" } as const;
type Chosen = keyof typeof NEXT;
const dark = matchMedia("(prefers-color-scheme: dark)");

const isChosen = (name: string | null): name is Chosen => name !== null && name in NEXT;

const chosen = (): Chosen => {
  const kept = localStorage.getItem(KEPT);
  return isChosen(kept) ? kept : "system";
};

export const theme = (): "light" | "dark" => {
  const name = chosen();
  return name === "system" ? (dark.matches ? "dark" : "light") : name;
};

/** Let a button choose the theme; `changed` is told of each change, the system's too. */
export function themed(button: HTMLElement, changed: () => void): void {
  const show = (): void => {
    document.documentElement.dataset.theme = theme();
    button.textContent = `Theme: ${chosen()}`;
    changed();
  };
  button.addEventListener("click", () => {
    localStorage.setItem(KEPT, NEXT[chosen()]);
    show();
  });
  dark.addEventListener("change", show);
  show();
}
