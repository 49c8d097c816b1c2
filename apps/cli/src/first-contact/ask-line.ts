import { systemClock } from '@millrace/agent';
import type { AskHost } from '../command/ask-user.ts';
import type { Key } from '../input/keys/key.ts';
import { listenForKeys } from '../input/keys/listen-for-keys.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';

interface AskLineOptions {
  /** True if the typed text is a secret. The terminal then shows a dot for each character. Default: false. */
  readonly isHidden?: boolean | undefined;
}

/** Maximum length of an answer. A longer one is a paste by mistake. */
const maxLength = 4096;
/** Maximum number of dots, so that a long key does not fill the screen. */
const maxDots = 40;

/**
 * Asks for one line. Returns undefined if the user cancels with Ctrl-C, Ctrl-D or Esc, or if the input ends.
 * The terminal is in raw mode, so a hidden text is never echoed by the system.
 */
export async function askLine(
  { stdin, stdout, signal, clock = systemClock }: AskHost,
  question: string,
  { isHidden = false }: AskLineOptions = {},
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  let typed = '';
  const shown = () => (isHidden ? '•'.repeat(Math.min(typed.length, maxDots)) : typed);
  const add = (text: string) => {
    const before = shown();
    // A copied key often ends in a line break.
    typed = (typed + text.replaceAll(/[\r\n]/g, '')).slice(0, maxLength);
    writeText(stdout, shown().slice(before.length));
  };
  const replace = (text: string) => {
    typed = text;
    writeText(stdout, `\n${question}${shown()}`);
  };
  const press = (key: Key) => {
    if (key.type === 'text' || key.type === 'paste') return add(key.text);
    if (key.type === 'chord' && key.ctrl && /[cd]/.test(key.char)) return resolve(undefined);
    if (key.type === 'chord' && key.ctrl && key.char === 'u') return replace('');
    if (key.type !== 'key') return undefined;
    if (key.name === 'escape') return resolve(undefined);
    if (key.name === 'enter') return resolve(typed);
    return key.name === 'backspace' ? replace(typed.slice(0, -1)) : undefined;
  };
  const stopListening = listenForKeys(
    { stdin, signal, clock },
    { onRead: ({ keys }) => keys.forEach(press), onCancel: () => resolve(undefined) },
  );
  writeText(stdout, question);
  try {
    const line = await promise;
    writeText(stdout, '\n');
    return line?.trim();
  } finally {
    stopListening();
  }
}
