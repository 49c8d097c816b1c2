import { maxTextLength } from '../editor/editor-state.ts';
import { flushEscape, readEscape } from './escape-sequence.ts';
import { controlKey, type Key } from './key.ts';

/** Input that is not a complete key yet. */
export interface KeyState {
  readonly pending: string;
  /** The received part of a paste that has not ended. Undefined if there is none. */
  readonly paste: string | undefined;
  /** True if the paste has paused for a long time. Its end marker may be lost. */
  readonly isStale: boolean;
}

interface ParsedKeys {
  readonly state: KeyState;
  readonly keys: readonly Key[];
  /**
   * The number of sequences in the input that are not keys, for example reports of the terminal.
   */
  readonly skipped: number;
  /** The index of the first key after the first paste that ended. Undefined if no paste ended. */
  readonly afterPaste?: number | undefined;
}

export const emptyKeyState: KeyState = { pending: '', paste: undefined, isStale: false };

/**
 * Decodes the keys in the input of a terminal. The function is pure and incremental: the result
 * does not depend on how the input is split. An incomplete sequence stays in the state.
 *
 * Esc can be a key or the start of a sequence. So call `flushKeys` when no input follows for a
 * while.
 */
export function parseKeys(before: KeyState, chunk: string): ParsedKeys {
  const keys: Key[] = [];
  let state = dropStalePaste(before, chunk);
  let input = state.pending + chunk;
  let skipped = 0;
  let afterPaste: number | undefined;
  while (input !== '') {
    if (state.paste === undefined) {
      const { at, isPasteStart, ignored } = readKeys(input, keys);
      skipped += ignored;
      if (!isPasteStart)
        return { state: { ...emptyKeyState, pending: input.slice(at) }, keys, skipped, afterPaste };
      state = { ...emptyKeyState, paste: '' };
      input = input.slice(at);
    } else {
      const { text, rest, isEnded } = readPaste(state.paste, input);
      if (!isEnded)
        return { state: { pending: rest, paste: text, isStale: false }, keys, skipped, afterPaste };
      if (text !== '') keys.push({ type: 'paste', text });
      afterPaste ??= keys.length;
      state = emptyKeyState;
      input = rest;
    }
  }
  return { state: { ...state, pending: '' }, keys, skipped, afterPaste };
}

/**
 * Returns the pending keys when no input follows. For an unfinished paste, it returns the received
 * part. The rest of the paste may still arrive.
 */
export function flushKeys({ pending, paste }: KeyState): ParsedKeys {
  if (paste === undefined) return { state: emptyKeyState, keys: flushEscape(pending), skipped: 0 };
  const keys: readonly Key[] = paste === '' ? [] : [{ type: 'paste', text: paste }];
  return { state: { pending, paste: '', isStale: true }, keys, skipped: 0 };
}

/**
 * Drops a paste that has paused for a long time, if a single control key arrives. This key means
 * that the user wants to leave the paste.
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
 * Reads text up to a control character. A high surrogate at the end of the input is kept for the
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
 * Maximum length of a paste. It is larger than the limit of the editor by one, so that the editor
 * can reject the paste.
 */
const maxPasteLength = maxTextLength + 1;

/** Continues a paste. It reads only the new input, so the total time is linear. */
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

/** Returns how many characters at the end of the input may be the start of the end marker. */
function partialMarkLength(input: string): number {
  for (let length = pasteEnd.length - 1; length > 0; length--)
    if (input.endsWith(pasteEnd.slice(0, length))) return length;
  return 0;
}

function appendLimited(paste: string, more: string): string {
  return paste + more.slice(0, Math.max(0, maxPasteLength - paste.length));
}
