import { useSyncExternalStore } from 'react';
import { local, readStored, session, writeStored } from '../../app/browser-storage.ts';

type Place = () => Storage;

/**
 * What was typed and not sent, one for each task. Kept by the tab, so that two that have the same
 * session open do not write over one another, and beside that for whoever opens it next.
 */
export class Drafts {
  readonly #own: Place;
  readonly #shared: Place;
  readonly #listeners = new Set<() => void>();
  /** A browser may keep nothing, and one types all the same. */
  readonly #known = new Map<string, string>();

  constructor(own: Place, shared: Place) {
    this.#own = own;
    this.#shared = shared;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  read(of: string): string {
    const known = this.#known.get(of);
    if (known !== undefined) return known;
    const text = readStored(this.#own, keyOf(of)) ?? readStored(this.#shared, keyOf(of)) ?? '';
    this.#known.set(of, text);
    return text;
  }

  write(of: string, text: string): void {
    const key = keyOf(of);
    const left = readStored(this.#shared, key);
    // What another tab left there is not ours to take away.
    const isOwn = left === undefined || left === this.read(of);
    if (text !== '') writeStored(this.#shared, key, text);
    else if (isOwn) writeStored(this.#shared, key, undefined);
    // Empty is kept where the other's would be read instead.
    writeStored(this.#own, key, text === '' && isOwn ? undefined : text);
    this.#known.set(of, text);
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
