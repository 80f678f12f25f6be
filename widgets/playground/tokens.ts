// How many tokens an answer is, counted as the server counts them (engine/present/answers/budget.py).

const TOKENS_PER_DIGIT = 0.75;
const TOKENS_PER_BYTE = 0.3; // of anything else

export function tokensOf(text: string): number {
  const bytes = new TextEncoder().encode(text).length;
  const digits = text.match(/[0-9]/g)?.length ?? 0;
  return Math.trunc(digits * TOKENS_PER_DIGIT + (bytes - digits) * TOKENS_PER_BYTE);
}
