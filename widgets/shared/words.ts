// Words as people look for them: whatever their case, accents and width.

export const plain = (words: string): string => words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
