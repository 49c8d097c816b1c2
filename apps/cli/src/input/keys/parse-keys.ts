import { maxTextLength } from '../editor/editor-state.ts';
import { cutEscape, readEscape } from './escape-sequence.ts';
import { controlKey, type Key } from './key.ts';

/** What has been read and is not a key yet. */
export interface KeyState {
  readonly pending: string;
  /** What has come of a paste whose end has not. */
  readonly paste: string | undefined;
  /** Nothing more came of the paste for long: its end may be lost. */
  readonly isStale: boolean;
}

interface ParsedKeys {
  readonly state: KeyState;
  readonly keys: readonly Key[];
}

export const noKeys: KeyState = { pending: '', paste: undefined, isStale: false };

/**
 * The keys in what a terminal sends, decoded. Pure and incremental: it does not matter how it is cut
 * into chunks.
 *
 * A sequence that is not at its end stays in the state. Whether an Esc is one or begins something,
 * only time can tell: call `flushKeys` when nothing more came for a moment.
 */
export function parseKeys(before: KeyState, chunk: string): ParsedKeys {
  const keys: Key[] = [];
  let state = leaveStale(before, chunk);
  let input = state.pending + chunk;
  while (input !== '') {
    if (state.paste === undefined) {
      const { at, isPasteStart } = readKeys(input, keys);
      if (!isPasteStart) return { state: { ...noKeys, pending: input.slice(at) }, keys };
      state = { ...noKeys, paste: '' };
      input = input.slice(at);
    } else {
      const { text, rest, isEnded } = readPaste(state.paste, input);
      if (!isEnded) return { state: { pending: rest, paste: text, isStale: false }, keys };
      if (text !== '') keys.push({ type: 'paste', text });
      state = noKeys;
      input = rest;
    }
  }
  return { state: { ...state, pending: '' }, keys };
}

/** What is pending, when nothing follows it. Of a paste, what is there: the rest may still come. */
export function flushKeys({ pending, paste }: KeyState): ParsedKeys {
  if (paste === undefined) return { state: noKeys, keys: cutEscape(pending) };
  const keys: readonly Key[] = paste === '' ? [] : [{ type: 'paste', text: paste }];
  return { state: { pending, paste: '', isStale: true }, keys };
}

/** A key by itself, long after a paste came to a halt, is somebody who wants to get out of it. */
function leaveStale(state: KeyState, chunk: string): KeyState {
  const isKey = chunk.length === 1 && chunk < ' ';
  return state.isStale && isKey ? noKeys : state;
}

/** Reads until a paste begins, or until something is not whole. */
function readKeys(input: string, keys: Key[]): { at: number; isPasteStart: boolean } {
  let at = 0;
  while (at < input.length) {
    const code = input.charCodeAt(at);
    if (code === 0x1b) {
      const sequence = readEscape(input, at);
      if (sequence === 'more') break;
      at = sequence.end;
      if (sequence.isPasteStart) return { at, isPasteStart: true };
      if (sequence.key !== undefined) keys.push(sequence.key);
    } else if (isControl(code)) {
      const key = controlKey(input.charAt(at));
      if (key !== undefined) keys.push(key);
      at++;
    } else {
      const text = readText(input, at);
      if (text === '') break;
      keys.push({ type: 'text', text });
      at += text.length;
    }
  }
  return { at, isPasteStart: false };
}

function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/** Up to what is no text; without the first half of a pair whose second has not come. */
function readText(input: string, at: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: text ends at control characters
  const form = /[^\u0000-\u001f\u007f-\u009f]+/y;
  form.lastIndex = at;
  const [text = ''] = form.exec(input) ?? [];
  return at + text.length === input.length ? text.replace(/[\ud800-\udbff]$/, '') : text;
}

const pasteEnd = '\u001b[201~';

/** Enough for the editor to see that it is too long. */
const maxPasteLength = maxTextLength + 1;

/** Goes on with a paste. Looks at what is new alone, so that a long paste in many chunks costs no more than its length. */
function readPaste(
  paste: string,
  input: string,
): { readonly text: string; readonly rest: string; readonly isEnded: boolean } {
  const end = input.indexOf(pasteEnd);
  if (end !== -1) {
    const rest = input.slice(end + pasteEnd.length);
    return { text: grown(paste, input.slice(0, end)), rest, isEnded: true };
  }
  const held = heldBack(input);
  const text = grown(paste, input.slice(0, input.length - held));
  return { text, rest: input.slice(input.length - held), isEnded: false };
}

/** How much of the end may be the beginning of the mark. */
function heldBack(input: string): number {
  for (let length = pasteEnd.length - 1; length > 0; length--)
    if (input.endsWith(pasteEnd.slice(0, length))) return length;
  return 0;
}

function grown(paste: string, more: string): string {
  return paste + more.slice(0, Math.max(0, maxPasteLength - paste.length));
}
