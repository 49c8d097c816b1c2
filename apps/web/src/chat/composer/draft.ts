import { useSyncExternalStore } from 'react';
import { local, readStored, session, writeStored } from '../../app/browser-storage.ts';

type GetStorage = () => Storage;

/**
 * What was typed and not sent, one for each task. Kept by the tab, so that two that have the same
 * session open do not write over one another, and beside that for whoever opens it next.
 */
export class Drafts {
  readonly #tabStorage: GetStorage;
  readonly #sharedStorage: GetStorage;
  readonly #listeners = new Set<() => void>();
  /** A browser may keep nothing, and one types all the same. */
  readonly #cache = new Map<string, string>();

  constructor(tabStorage: GetStorage, sharedStorage: GetStorage) {
    this.#tabStorage = tabStorage;
    this.#sharedStorage = sharedStorage;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  read(of: string): string {
    const cache = this.#cache.get(of);
    if (cache !== undefined) return cache;
    const text =
      readStored(this.#tabStorage, keyOf(of)) ?? readStored(this.#sharedStorage, keyOf(of)) ?? '';
    this.#cache.set(of, text);
    return text;
  }

  write(of: string, text: string): void {
    const key = keyOf(of);
    const stored = readStored(this.#sharedStorage, key);
    // What another tab stored there is not ours to take away.
    const isUnchanged = stored === undefined || stored === this.read(of);
    if (text !== '') writeStored(this.#sharedStorage, key, text);
    else if (isUnchanged) writeStored(this.#sharedStorage, key, undefined);
    // Empty is kept where the other's would be read instead.
    writeStored(this.#tabStorage, key, text === '' && isUnchanged ? undefined : text);
    this.#cache.set(of, text);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Before what was typed since. */
  add(of: string, text: string): void {
    const typed = this.read(of);
    this.write(of, typed === '' ? text : `${text}\n\n${typed}`);
  }
}

const keyOf = (of: string) => `draft:${of}`;

/** Those of this tab. */
export const drafts: Drafts = new Drafts(session, local);

export function useDraft(of: string): readonly [string, (text: string) => void] {
  const text = useSyncExternalStore(drafts.subscribe, () => drafts.read(of));
  return [text, (typed) => drafts.write(of, typed)];
}
