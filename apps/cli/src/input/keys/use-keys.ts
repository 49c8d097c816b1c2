import { type Clock, systemClock } from '@millrace/agent';
import { usePaste, useStdin } from 'ink';
import { useEffect, useEffectEvent } from 'react';
import type { Key } from './key.ts';
import { emptyKeyState, flushKeys, type KeyState, parseKeys } from './parse-keys.ts';

interface UseKeysOptions {
  /** False while another component receives the keys. Default: true. */
  readonly isActive?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Calls `onRead` with the keys of each read from the terminal, using our own parser.
 *
 * Ink's `useInput` is not enough. It treats one read as one key unless the read starts with Esc. If
 * `hello` and Enter arrive together (slow connection, type-ahead, tests), it reports text with a
 * line end and nothing is sent. It does not support xterm's modifyOtherKeys, which terminals use
 * for Shift-Enter. It also decides after 20 ms of real time that Esc is a key, which is too short
 * for slow connections.
 *
 * This hook listens to stdin itself and leaves the shared parts to Ink. `usePaste` switches raw
 * mode and bracketed paste on and off, counts its users, and restores the terminal when Ink is
 * suspended or ends. Ink reads the stream, and each read emits `data`. Both parsers see all input,
 * so a component with `useInput` can be active at the same time, and Ink still receives the
 * terminal's answers about its keyboard.
 */
export function useKeys(onRead: (read: KeyRead) => void, options: UseKeysOptions = {}): void {
  const { stdin, isRawModeSupported } = useStdin();
  const { clock } = options;
  const isActive = (options.isActive ?? true) && isRawModeSupported;
  const handle = useEffectEvent(onRead);
  usePaste(ignorePaste, { isActive });
  useEffect(() => {
    if (!isActive) return;
    const reader = new KeyReader({ clock, onRead: (read) => handle(read) });
    // Ink sets the stream's encoding, so no character is split.
    const listen = (chunk: string | Buffer) => reader.push(String(chunk));
    stdin.on('data', listen);
    return () => {
      stdin.off('data', listen);
      reader.reset();
    };
  }, [stdin, isActive, clock]);
}

/** The paste arrives in order with the other keys, so Ink's event is not needed. */
function ignorePaste(): void {}

/** The keys that arrived together. */
export interface KeyRead {
  /** Empty if the read has only a part of a sequence, or a report of the terminal. */
  readonly keys: readonly Key[];
  /**
   * The read was one key press and nothing else: no other key, no paste, no part of a sequence.
   * Connections that lag deliver several key presses in one read.
   */
  readonly isAlone: boolean;
}

interface KeyReaderOptions {
  readonly onRead: (read: KeyRead) => void;
  readonly clock?: Clock | undefined;
  /**
   * After this time Esc is a key and not the start of a sequence. Default: 50 ms, because slow
   * connections split sequences.
   */
  readonly escapeTimeoutMs?: number | undefined;
  /** After this time the received part of a paste is reported. Default: 1 s. */
  readonly pasteTimeoutMs?: number | undefined;
}

/** Turns chunks of input into keys. A timer decides where the chunks cannot. */
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

  /** The state is set first, because a key can cause a reset. */
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
