import { type Clock, systemClock } from '@millrace/agent';
import type { Key } from './key.ts';
import { emptyKeyState, flushKeys, type KeyState, parseKeys } from './parse-keys.ts';

/** The keys that arrived together. */
export interface KeyRead {
  /**
   * The keys. Empty if the read contains only an incomplete sequence, or a report of the terminal.
   */
  readonly keys: readonly Key[];
  /**
   * True if the read contains exactly one key press and nothing else: no paste, and no incomplete
   * sequence. A slow connection can deliver several key presses in one read.
   */
  readonly isAlone: boolean;
}

interface KeyReaderOptions {
  readonly onRead: (read: KeyRead) => void;
  readonly clock?: Clock | undefined;
  /**
   * If no input follows Esc in this time, Esc is a key. Otherwise it is the start of a sequence.
   * Default: 50 ms, because slow connections split sequences.
   */
  readonly escapeTimeoutMs?: number | undefined;
  /** If a paste pauses for this time, the part that has arrived is reported. Default: 1 s. */
  readonly pasteTimeoutMs?: number | undefined;
}

/** Turns chunks of input into keys. If a chunk is ambiguous, a timer decides. */
export class KeyReader {
  readonly #options: KeyReaderOptions;
  #state: KeyState = emptyKeyState;
  #cancel: (() => void) | undefined;

  constructor(options: KeyReaderOptions) {
    this.#options = options;
  }

  push(chunk: string): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const isWhole = isEmpty(this.#state);
    const { state, keys, skipped } = parseKeys(this.#state, chunk);
    const isAlone = isWhole && isEmpty(state) && skipped === 0 && isOnePress(keys);
    this.#take(state, { keys, isAlone });
    this.#wait();
  }

  /** Drops incomplete input. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#state = emptyKeyState;
  }

  #wait(): void {
    const { pending, paste } = this.#state;
    if (pending === '' && paste === undefined) return;
    const { clock = systemClock, escapeTimeoutMs = 50, pasteTimeoutMs = 1000 } = this.#options;
    const ms = paste === undefined ? escapeTimeoutMs : pasteTimeoutMs;
    this.#cancel = clock.after(ms, () => {
      this.#cancel = undefined;
      const { state, keys } = flushKeys(this.#state);
      this.#take(state, { keys, isAlone: false });
    });
  }

  /**
   * Sets the state and then calls `onRead`. This order matters, because a key can cause a reset.
   */
  #take(state: KeyState, read: KeyRead): void {
    this.#state = state;
    this.#options.onRead(read);
  }
}

function isEmpty({ pending, paste }: KeyState): boolean {
  return pending === '' && paste === undefined;
}

function isOnePress(keys: readonly Key[]): boolean {
  const [key] = keys;
  if (key === undefined || keys.length > 1 || key.type === 'paste') return false;
  return key.type !== 'text' || [...key.text].length === 1;
}
