import type { Clock } from '@millrace/agent';
import { usePaste, useStdin } from 'ink';
import { useEffect, useEffectEvent } from 'react';
import type { Key } from './key.ts';
import { KeyReader } from './key-reader.ts';

export interface UseKeysOptions {
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
