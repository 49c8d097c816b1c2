import { type Clock, systemClock } from '@millrace/agent';
import type { Key } from './key.ts';
import { flushKeys, type KeyState, noKeys, parseKeys } from './parse-keys.ts';

export interface KeyReaderOptions {
  readonly onKey: (key: Key) => void;
  readonly clock?: Clock | undefined;
  /** Then an Esc is an Esc, and not the beginning of a sequence. 50 ms unless told: slow lines cut sequences. */
  readonly escapeTimeoutMs?: number | undefined;
  /** Then what came of a paste is taken. 1 s unless told. */
  readonly pasteTimeoutMs?: number | undefined;
}

/** Chunks in, keys out; time decides where chunks cannot. */
export class KeyReader {
  readonly #options: KeyReaderOptions;
  #state: KeyState = noKeys;
  #cancel: (() => void) | undefined;

  constructor(options: KeyReaderOptions) {
    this.#options = options;
  }

  push(chunk: string): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const { state, keys } = parseKeys(this.#state, chunk);
    this.#take(state, keys);
    this.#wait();
  }

  /** Forgets what is not whole. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#state = noKeys;
  }

  #wait(): void {
    const { pending, paste } = this.#state;
    if (pending === '' && paste === undefined) return;
    const { clock = systemClock, escapeTimeoutMs = 50, pasteTimeoutMs = 1000 } = this.#options;
    const ms = paste === undefined ? escapeTimeoutMs : pasteTimeoutMs;
    this.#cancel = clock.after(ms, () => {
      this.#cancel = undefined;
      const { state, keys } = flushKeys(this.#state);
      this.#take(state, keys);
    });
  }

  /** The state comes first: a key may lead to a reset. */
  #take(state: KeyState, keys: readonly Key[]): void {
    this.#state = state;
    for (const key of keys) this.#options.onKey(key);
  }
}
