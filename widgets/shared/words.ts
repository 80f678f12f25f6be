// Words for people: as they look for them, and names as they read them.

/** Whatever their case, accents and width. */
export const plain = (words: string): string => words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** A name of the service in words: "cost_centre" is called cost centre. */
export const called = (name: string): string => name.replaceAll("_", " ");

/** The same as a heading: Cost centre. */
export const inWords = (key: string): string => key.charAt(0).toUpperCase() + called(key.slice(1));
