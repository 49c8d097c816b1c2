import type { Clock } from '@millrace/agent';
import { usePaste, useStdin } from 'ink';
import { useEffect, useEffectEvent } from 'react';
import { type KeyRead, KeyReader } from './key-reader.ts';

interface UseKeysOptions {
  /** False while another component receives the keys. Default: true. */
  readonly isActive?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Calls `onRead` with the keys of each read from the terminal. It uses the parser of this folder.
 *
 * Ink's `useInput` is not enough. It treats one read as one key unless the read starts with Esc. If
 * `hello` and Enter arrive together (slow connection, type-ahead, tests), it reports text with a
 * line end, and nothing is sent. It does not support xterm's modifyOtherKeys, which terminals use
 * for Shift-Enter. It also decides after 20 ms of real time that Esc is a key, which is too short
 * for slow connections.
 *
 * This hook listens to stdin itself and leaves the shared parts to Ink. `usePaste` switches raw
 * mode and bracketed paste on and off, counts its users, and restores the terminal when Ink is
 * suspended or ends. Ink reads the stream, and each read emits `data`. Both parsers see all input.
 * So a component with `useInput` can be active at the same time, and Ink still receives the
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
    // Ink sets the stream's encoding, so no chunk ends inside a character.
    let isFirst = true;
    const listen = (chunk: string | Buffer) => {
      const text = String(chunk);
      reader.push(isFirst ? typedBeforeStart(text) : text);
      // The terminal itself may answer first, with a sequence that starts with Esc.
      if (!text.startsWith('\u001b')) isFirst = false;
    };
    stdin.on('data', listen);
    return () => {
      stdin.off('data', listen);
      reader.reset();
    };
  }, [stdin, isActive, clock]);
}

/**
 * Returns the text that was typed before the terminal was in raw mode. The terminal has turned Enter
 * into a line feed, which would be Ctrl-J, a new line, afterwards.
 */
function typedBeforeStart(text: string): string {
  return text.startsWith('\u001b') ? text : text.replaceAll('\n', '\r');
}

/** Ignores Ink's paste event, because the paste also arrives in order with the other keys. */
function ignorePaste(): void {}
