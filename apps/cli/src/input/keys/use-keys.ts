import { type Clock, systemClock } from '@millrace/agent';
import { usePaste, useStdin } from 'ink';
import { useEffect, useEffectEvent } from 'react';
import type { Key } from './key.ts';
import { flushKeys, type KeyState, noKeys, parseKeys } from './parse-keys.ts';

interface UseKeysOptions {
  /** False while somebody else has the keys. */
  readonly isActive?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * The keys of the terminal, by our own parser.
 *
 * Ink's `useInput` is not enough. It takes what comes in one read as one key unless an Esc begins it,
 * so `hello` and Enter that come together (a slow line, type-ahead, a test that drives a terminal)
 * are text with a line end in it, and nothing is sent. It does not know xterm's modifyOtherKeys,
 * by which Shift-Enter comes. An Esc is one after 20 ms of the real clock, whatever the line.
 *
 * So this listens to stdin itself, and leaves to Ink what others share: `usePaste` turns raw mode
 * and bracketed paste on and off, counts who needs them, and gives the terminal back when Ink is
 * suspended or ends. Ink reads the stream, and `data` tells of each read. Both parsers see all of
 * it: a component with `useInput` may be active beside this, and Ink still hears what the terminal
 * answers about its keyboard.
 */
export function useKeys(onKey: (key: Key) => void, options: UseKeysOptions = {}): void {
  const { stdin, isRawModeSupported } = useStdin();
  const { clock } = options;
  const isActive = (options.isActive ?? true) && isRawModeSupported;
  const handle = useEffectEvent(onKey);
  usePaste(ignore, { isActive });
  useEffect(() => {
    if (!isActive) return;
    const reader = new KeyReader({ clock, onKey: (key) => handle(key) });
    // Ink has asked the stream for text, so that no character comes in halves.
    const listen = (chunk: string | Buffer) => reader.push(String(chunk));
    stdin.on('data', listen);
    return () => {
      stdin.off('data', listen);
      reader.reset();
    };
  }, [stdin, isActive, clock]);
}

/** The paste comes with the other keys, in order. */
function ignore(): void {}

interface KeyReaderOptions {
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
