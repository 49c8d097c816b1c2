/** What a browser keeps for the page. Where it may keep nothing, the page works all the same. */
export function readStored(storage: () => Storage, key: string): string | undefined {
  try {
    return storage().getItem(`millrace:${key}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined forgets it. */
export function writeStored(storage: () => Storage, key: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(`millrace:${key}`);
    else storage().setItem(`millrace:${key}`, value);
  } catch {
    // Full or forbidden: it is a convenience, and the page says nothing of it.
  }
}

export const local = (): Storage => localStorage;
export const session = (): Storage => sessionStorage;
