import { maxTextLength } from '../editor/editor-state.ts';
import { flushEscape, readEscape } from './escape-sequence.ts';
import { controlKey, type Key } from './key.ts';

/** Input that is not a complete key yet. */
export interface KeyState {
  readonly pending: string;
  /** The received part of a paste whose end has not arrived. */
  readonly paste: string | undefined;
  /** True if the paste has paused for long, so its end marker may be lost. */
  readonly isStale: boolean;
}

interface ParsedKeys {
  readonly state: KeyState;
  readonly keys: readonly Key[];
  /** Number of sequences in the input that are not keys, such as reports of the terminal. */
  readonly skipped: number;
}

export const emptyKeyState: KeyState = { pending: '', paste: undefined, isStale: false };

/**
 * Decodes the keys in the input of a terminal. The function is pure and incremental, so it does not
 * matter how the input is split into chunks.
 *
 * An incomplete sequence stays in the state. Esc can be a key or the start of a sequence. So call
 * `flushKeys` when no input follows for a while.
 */
export function parseKeys(before: KeyState, chunk: string): ParsedKeys {
  const keys: Key[] = [];
  let state = dropStalePaste(before, chunk);
  let input = state.pending + chunk;
  let skipped = 0;
  while (input !== '') {
    if (state.paste === undefined) {
      const { at, isPasteStart, ignored } = readKeys(input, keys);
      skipped += ignored;
      if (!isPasteStart)
        return { state: { ...emptyKeyState, pending: input.slice(at) }, keys, skipped };
      state = { ...emptyKeyState, paste: '' };
      input = input.slice(at);
    } else {
      const { text, rest, isEnded } = readPaste(state.paste, input);
      if (!isEnded) return { state: { pending: rest, paste: text, isStale: false }, keys, skipped };
      if (text !== '') keys.push({ type: 'paste', text });
      state = emptyKeyState;
      input = rest;
    }
  }
  return { state: { ...state, pending: '' }, keys, skipped };
}

/**
 * Returns the pending keys when no input follows. Of an unfinished paste, it returns the received
 * part, and more of the paste may follow.
 */
export function flushKeys({ pending, paste }: KeyState): ParsedKeys {
  if (paste === undefined) return { state: emptyKeyState, keys: flushEscape(pending), skipped: 0 };
  const keys: readonly Key[] = paste === '' ? [] : [{ type: 'paste', text: paste }];
  return { state: { pending, paste: '', isStale: true }, keys, skipped: 0 };
}

/**
 * Drops a paste that has paused for long, if a single control key arrives. The user then wants to
 * leave the paste.
 */
function dropStalePaste(state: KeyState, chunk: string): KeyState {
  const isKey = chunk.length === 1 && chunk < ' ';
  return state.isStale && isKey ? emptyKeyState : state;
}

/** Reads keys until a paste starts or the input is incomplete. */
function readKeys(
  input: string,
  keys: Key[],
): { readonly at: number; readonly isPasteStart: boolean; readonly ignored: number } {
  let [at, ignored] = [0, 0];
  while (at < input.length) {
    const code = input.charCodeAt(at);
    if (code === 0x1b) {
      const sequence = readEscape(input, at);
      if (sequence === 'more') break;
      at = sequence.end;
      if (sequence.isPasteStart) return { at, isPasteStart: true, ignored };
      if (sequence.key === undefined) ignored++;
      else keys.push(sequence.key);
    } else if (isControl(code)) {
      const key = controlKey(input.charAt(at));
      if (key === undefined) ignored++;
      else keys.push(key);
      at++;
    } else {
      const text = readText(input, at);
      if (text === '') break;
      keys.push({ type: 'text', text });
      at += text.length;
    }
  }
  return { at, isPasteStart: false, ignored };
}

function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/**
 * Reads text up to a control character. A high surrogate at the end of the input is left for the
 * next read.
 */
function readText(input: string, at: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: text ends at control characters
  const form = /[^\u0000-\u001f\u007f-\u009f]+/y;
  form.lastIndex = at;
  const [text = ''] = form.exec(input) ?? [];
  return at + text.length === input.length ? text.replace(/[\ud800-\udbff]$/, '') : text;
}

const pasteEnd = '\u001b[201~';

/**
 * Maximum length of a paste. It is one more than the limit of the editor, so that the editor can
 * reject the paste as too long.
 */
const maxPasteLength = maxTextLength + 1;

/** Continues a paste. It reads only the new input, so a long paste takes linear time. */
function readPaste(
  paste: string,
  input: string,
): { readonly text: string; readonly rest: string; readonly isEnded: boolean } {
  const end = input.indexOf(pasteEnd);
  if (end !== -1) {
    const rest = input.slice(end + pasteEnd.length);
    return { text: appendLimited(paste, input.slice(0, end)), rest, isEnded: true };
  }
  const held = partialMarkLength(input);
  const text = appendLimited(paste, input.slice(0, input.length - held));
  return { text, rest: input.slice(input.length - held), isEnded: false };
}

/** Returns the length of the end of the input that may be the start of the end marker. */
function partialMarkLength(input: string): number {
  for (let length = pasteEnd.length - 1; length > 0; length--)
    if (input.endsWith(pasteEnd.slice(0, length))) return length;
  return 0;
}

function appendLimited(paste: string, more: string): string {
  return paste + more.slice(0, Math.max(0, maxPasteLength - paste.length));
}
