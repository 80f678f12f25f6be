// What goes wrong between the page and its server: what a person is told of it, and who may ask again.

export const NO_ANSWER = "The server does not answer. Once it runs again, so does this page.";

export const faultWords = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

/** Answers asked for once each; one that fails is forgotten, so that the next who asks tries again. */
export class Once<Answer> {
  private readonly known = new Map<string, Promise<Answer>>();

  of(name: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.known.get(name);
    if (known) return known;
    const asked = ask();
    this.known.set(name, asked);
    asked.catch(() => this.known.delete(name));
    return asked;
  }
}
