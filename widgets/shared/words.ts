// Words for people: as they look for them, and names as they read them.

/** Whatever their case, accents and width. */
export const plain = (words: string): string => words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** A key in words: "cost_centre" is Cost centre. */
export const inWords = (key: string): string => key.charAt(0).toUpperCase() + key.slice(1).replaceAll("_", " ");
