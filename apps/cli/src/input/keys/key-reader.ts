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

/**
 * Input that follows the end of a paste within this time belongs to the paste. A pasted text can
 * contain the end marker itself, and terminals split long pastes.
 */
const afterPasteMs = 100;
/** Keys that follow other keys within this time were not pressed one by one. */
const burstMs = 50;

/** Turns chunks of input into keys. If a chunk is ambiguous, a timer decides. */
export class KeyReader {
  readonly #options: KeyReaderOptions;
  #state: KeyState = emptyKeyState;
  #cancel: (() => void) | undefined;
  /** The time until which input belongs to the last paste. */
  #pastedUntilMs = 0;
  /** The time until which input belongs to the last keys that arrived together. */
  #burstUntilMs = 0;

  constructor(options: KeyReaderOptions) {
    this.#options = options;
  }

  push(chunk: string): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const isWhole = isEmpty(this.#state);
    const { state, keys, skipped, afterPaste } = parseKeys(this.#state, chunk);
    const isComplete = isWhole && isEmpty(state) && skipped === 0;
    this.#take(state, this.#judge(keys, isComplete, afterPaste));
    this.#wait();
  }

  /**
   * Decides which keys the user pressed. Keys that arrive shortly after a paste count as pasted text.
   * Some terminals do not mark pastes, so keys that arrive together can also be a paste. Some of these
   * keys therefore have no effect.
   */
  #judge(all: readonly Key[], isComplete: boolean, afterPaste: number | undefined): KeyRead {
    const now = (this.#options.clock ?? systemClock).now();
    const isPasted = now < this.#pastedUntilMs;
    const isWhole = isComplete && !isPasted && now >= this.#burstUntilMs;
    const keys = isWhole ? withWholeText(all) : all;
    if (isPasted || afterPaste !== undefined) {
      this.#pastedUntilMs = now + afterPasteMs;
      const from = isPasted ? 0 : (afterPaste ?? 0);
      const typed = withoutCommands(keys.slice(0, from));
      return { keys: [...typed, ...asPaste(keys.slice(from))], isAlone: false };
    }
    if (isWhole && isOnePress(keys)) return { keys, isAlone: true };
    if (keys.length > 0) this.#burstUntilMs = now + burstMs;
    return { keys: withoutCommands(keys), isAlone: false };
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

/**
 * Makes keys that arrived together harmless. A text that starts with `!` counts as pasted. Shift-Tab, which changes
 * the rights of the agent, has no effect. The prompt decides about commands, because only the prompt has their text.
 */
function withoutCommands(keys: readonly Key[]): readonly Key[] {
  return keys.flatMap((key): readonly Key[] => {
    if (key.type === 'text' && key.text.startsWith('!')) return asPaste([key]);
    return key.type === 'key' && key.name === 'tab' && key.shift ? [] : [key];
  });
}

/** Marks the text of a read that contains nothing else. */
function withWholeText(keys: readonly Key[]): readonly Key[] {
  const [key] = keys;
  const isText = key?.type === 'paste' || (key?.type === 'text' && [...key.text].length > 1);
  return keys.length === 1 && isText ? [{ ...key, isWhole: true }] : keys;
}

function isEmpty({ pending, paste }: KeyState): boolean {
  return pending === '' && paste === undefined;
}

/** Returns keys as pasted text. Keys without text have no effect, except Enter and Tab. */
function asPaste(keys: readonly Key[]): readonly Key[] {
  const text = keys.map((key) => {
    if (key.type === 'text' || key.type === 'paste') return key.text;
    if (key.type === 'key' && key.name === 'enter') return '\n';
    return key.type === 'key' && key.name === 'tab' && !key.shift ? '\t' : '';
  });
  return keys.length === 0 || text.join('') === '' ? [] : [{ type: 'paste', text: text.join('') }];
}

function isOnePress(keys: readonly Key[]): boolean {
  const [key] = keys;
  if (key === undefined || keys.length > 1 || key.type === 'paste') return false;
  return key.type !== 'text' || [...key.text].length === 1;
}
