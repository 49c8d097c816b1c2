/**
 * Reads a value from browser storage. Returns undefined if there is none, or if the browser blocks
 * storage. The page works without storage.
 */
export function readStored(storage: () => Storage, key: string): string | undefined {
  try {
    return storage().getItem(`millrace:${key}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a value in browser storage. Undefined removes the stored value. */
export function writeStored(storage: () => Storage, key: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(`millrace:${key}`);
    else storage().setItem(`millrace:${key}`, value);
  } catch {
    // The storage is full or blocked. Stored values are a convenience, so the page reports no
    // error.
  }
}

/** Returns the storage that all tabs share. */
export const sharedStorage = (): Storage => localStorage;
/** Returns the storage of this tab. */
export const tabStorage = (): Storage => sessionStorage;
