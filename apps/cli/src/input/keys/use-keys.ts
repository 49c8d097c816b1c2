import type { Clock } from '@millrace/agent';
import { usePaste, useStdin } from 'ink';
import { useCallback, useEffect, useEffectEvent, useRef } from 'react';
import { type KeyRead, KeyReader } from './key-reader.ts';
import { typedBeforeStart } from './listen-for-keys.ts';

interface UseKeysOptions {
  /** False while a different component receives the keys. Default: true. */
  readonly isActive?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

/** Starts and stops reading. */
interface Listening {
  readonly start: () => void;
  readonly stop: () => void;
}

/** Runs work while no input is read, because another program reads the terminal. */
type WithoutKeys = (work: () => Promise<void>) => Promise<void>;

/**
 * Calls `onRead` with the keys of each read from the terminal. It uses the parser of this folder.
 *
 * Ink's `useInput` has three problems. It treats one read as one key, unless the read starts with
 * Esc. So if `hello` and Enter arrive together, it reports one text with a line break, and the text
 * is not sent. It does not support xterm's modifyOtherKeys, which terminals use for Shift-Enter. It
 * decides after 20 ms that Esc is a key, which is too early for slow connections.
 *
 * This hook listens to stdin itself. Ink still does the rest: `usePaste` switches raw mode and
 * bracketed paste on and off, and restores the terminal when Ink ends. Ink also reads the stream,
 * and each read emits `data`. Both parsers receive all input. So a component with `useInput` can be
 * active at the same time, and Ink receives the answers of the terminal.
 *
 * Ink stops reading while another program uses the terminal. The returned function stops this hook too.
 */
export function useKeys(
  onRead: (read: KeyRead) => void,
  options: UseKeysOptions = {},
): WithoutKeys {
  const { stdin, isRawModeSupported } = useStdin();
  const { clock } = options;
  const isActive = (options.isActive ?? true) && isRawModeSupported;
  const handle = useEffectEvent(onRead);
  const listening = useRef<Listening | undefined>(undefined);
  usePaste(ignorePaste, { isActive });
  useEffect(() => {
    if (!isActive) return;
    const reader = new KeyReader({ clock, onRead: (read) => handle(read) });
    // Ink sets the encoding of the stream, so a chunk never ends inside a character.
    let isFirst = true;
    const listen = (chunk: string | Buffer) => {
      const text = String(chunk);
      reader.push(isFirst ? typedBeforeStart(text) : text);
      // The first input may be an answer of the terminal. It starts with Esc.
      if (!text.startsWith('\u001b')) isFirst = false;
    };
    const stop = () => {
      stdin.off('data', listen);
      reader.reset();
    };
    const start = () => void stdin.on('data', listen);
    listening.current = { start, stop };
    start();
    return () => {
      stop();
      listening.current = undefined;
    };
  }, [stdin, isActive, clock]);
  return useCallback(
    async (work) => {
      listening.current?.stop();
      // The stream notices in the next tick that it has no listener, and would then read on into its buffer.
      await new Promise((resolve) => setImmediate(resolve));
      stdin.pause();
      try {
        await work();
      } finally {
        while (stdin.read() !== null);
        listening.current?.start();
      }
    },
    [stdin],
  );
}

/**
 * Ignores Ink's paste event. The paste also arrives as a key, in the correct order with other keys.
 */
function ignorePaste(): void {}
