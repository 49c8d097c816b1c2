import { useSyncExternalStore } from 'react';
import { readStored, sharedStorage, tabStorage, writeStored } from '../../storage.ts';

type GetStorage = () => Storage;

/**
 * Stores unsent text, one draft for each task. Each tab has its own drafts, so that two tabs with
 * the same session do not overwrite each other's text. All tabs also share a copy, which is the
 * initial draft of a new tab.
 */
export class Drafts {
  readonly #tabStorage: GetStorage;
  readonly #sharedStorage: GetStorage;
  readonly #listeners = new Set<() => void>();
  /** The drafts in memory. They are needed if the browser blocks storage. */
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
    // A draft that a different tab stored must not be removed.
    const isUnchanged = stored === undefined || stored === this.read(of);
    if (text !== '') writeStored(this.#sharedStorage, key, text);
    else if (isUnchanged) writeStored(this.#sharedStorage, key, undefined);
    // If a different tab has stored a shared draft, this tab stores an empty draft. Otherwise this
    // tab would read the shared draft.
    writeStored(this.#tabStorage, key, text === '' && isUnchanged ? undefined : text);
    this.#cache.set(of, text);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Inserts text before the current draft. */
  add(of: string, text: string): void {
    const typed = this.read(of);
    this.write(of, typed === '' ? text : `${text}\n\n${typed}`);
  }
}

const keyOf = (of: string) => `draft:${of}`;

/** The drafts of this tab. */
export const drafts: Drafts = new Drafts(tabStorage, sharedStorage);

/** A server that renders the page has no drafts. */
const noDraft = () => '';

export function useDraft(of: string): readonly [string, (text: string) => void] {
  const text = useSyncExternalStore(drafts.subscribe, () => drafts.read(of), noDraft);
  return [text, (typed) => drafts.write(of, typed)];
}
