// The line in which a view tells what just happened.

import { element } from "./element";

export class Told {
  readonly element = element("span", { class: "told", role: "status", "aria-live": "polite" });

  tell(words: string): void {
    this.element.textContent = words;
  }

  /** Each action ends in a line that says how it ended. */
  attempt(done: string, action: Promise<unknown>): void {
    action.then(
      (answer) => { this.tell(answer === false ? "The host did not do it." : done); },
      (fault: unknown) => { this.tell(fault instanceof Error ? fault.message : "That did not work."); },
    );
  }
}
