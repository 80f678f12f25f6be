// The server's key: taken out of the address at once, kept for this tab, handed to nobody but the server.

const KEPT = "tieout.key";

/** The key, from the address that `tieout serve` printed or from before; none where neither has one. */
export function keyOf(address: Location): string | undefined {
  const given = /^#key=(.+)$/.exec(address.hash)?.[1];
  if (given !== undefined) {
    history.replaceState(null, "", address.pathname);
    keep(decodeURIComponent(given));
  }
  return sessionStorage.getItem(KEPT) ?? undefined;
}

export const keep = (key: string): void => {
  sessionStorage.setItem(KEPT, key);
};

export const forget = (): void => {
  sessionStorage.removeItem(KEPT);
};
