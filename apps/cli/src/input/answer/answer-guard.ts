import type { Clock } from '@millrace/agent';
import type { Key } from '../keys/key.ts';
import type { KeyRead } from '../keys/key-reader.ts';

/**
 * The length of the quiet period. A key can answer a question only if no other key arrived in this
 * time before it. The period starts when the question is on the screen, and restarts with each key.
 * One second is longer than the pause between two typed words, and shorter than the time to read a
 * question.
 */
export const quietMs = 1000;

/**
 * The time for which an approval is held back. If a further key arrives in this time, the first key
 * was not an approval. It was, for example, the start of a sentence.
 */
export const settleMs = 300;

/**
 * The length of the last part of both periods. A busy process runs its timers late, and before it
 * reads keys that have arrived. So a period ends only if the timer of this last part was on time.
 */
const readableMs = 50;
/** Maximum delay of a timer while the process is not busy. */
const toleranceMs = 20;

interface AnswerGuardOptions {
  readonly clock: Clock;
  /**
   * Called when the quiet period ends. Also called when a held answer takes effect or is cancelled.
   */
  readonly onChange: () => void;
}

/** An answer that takes effect if no other key follows. */
interface HeldAnswer {
  readonly key: Key;
  readonly cancel: () => void;
}

/**
 * Decides whether a key may answer a question. Only a single key press is an answer. No other key
 * may arrive in the same read, in the quiet period before, or shortly after.
 */
export class AnswerGuard {
  readonly #options: AnswerGuardOptions;
  #isQuiet = false;
  #cancelQuiet: (() => void) | undefined;
  #held: HeldAnswer | undefined;

  constructor(options: AnswerGuardOptions) {
    this.#options = options;
  }

  /** True after the quiet period. The next key can then answer. */
  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  /** The key of an answer that is held back. Undefined if there is none. */
  get heldKey(): Key | undefined {
    return this.#held?.key;
  }

  /**
   * Restarts the quiet period. Call it when the question appears or changes, and when a key
   * arrives.
   */
  restart(): void {
    this.release();
    this.#cancelQuiet?.();
    this.#isQuiet = false;
    const { clock, onChange } = this.#options;
    this.#cancelQuiet = afterReading(clock, quietMs, () => {
      this.#cancelQuiet = undefined;
      this.#isQuiet = true;
      onChange();
    });
  }

  /** Holds an answer back for a moment. Then calls `answer`, unless a further key has arrived. */
  hold(key: Key, answer: () => void): void {
    const { clock, onChange } = this.#options;
    const cancel = afterReading(clock, settleMs, () => {
      this.#held = undefined;
      answer();
      onChange();
    });
    this.#held = { key, cancel };
  }

  /** Cancels the answer that is held back, and returns its key. */
  release(): Key | undefined {
    const held = this.#held;
    this.#held = undefined;
    held?.cancel();
    return held?.key;
  }

  /** Ends the quiet period and cancels a held answer. Call it when no question is open. */
  close(): void {
    this.release();
    this.#cancelQuiet?.();
    this.#cancelQuiet = undefined;
    this.#isQuiet = false;
  }
}

/** Calls `done` after a time, but not before all keys that arrived in this time are read. */
function afterReading(clock: Clock, ms: number, done: () => void): () => void {
  let cancel = () => {};
  const waitForKeys = () => {
    const due = clock.now() + readableMs;
    cancel = clock.after(readableMs, () => {
      const isLate = clock.now() - due > toleranceMs;
      if (isLate) waitForKeys();
      else done();
    });
  };
  cancel = clock.after(ms - readableMs, waitForKeys);
  return () => cancel();
}

/** A refusal that the user typed or pasted as one text. */
export interface Refusal {
  /** The words after "no". Undefined if there are none. */
  readonly reason: string | undefined;
  /** True if the text ended with Enter. */
  readonly isSent: boolean;
}

/**
 * Returns the refusal in keys that arrived together. A refusal is "n" or "no", with optional
 * further words and Enter.
 */
export function refusalIn({ keys }: KeyRead): Refusal | undefined {
  const text = typedText(keys);
  const isSent = keys.some((key) => key.type === 'key' && key.name === 'enter');
  const [, reason = ''] = /^\s*no?(?:[\s.,;:!-]+(.*))?$/is.exec(text) ?? [];
  const isRefusal = /^\s*no?(?![\p{L}\p{N}_'’])/iu.test(text);
  if (!isRefusal) return undefined;
  return { reason: reason.trim() === '' ? undefined : reason.trim(), isSent };
}

function typedText(keys: readonly Key[]): string {
  return keys.map((key) => (key.type === 'text' || key.type === 'paste' ? key.text : '')).join('');
}

const editKeys: ReadonlySet<string> = new Set([
  'backspace',
  'delete',
  'left',
  'right',
  'home',
  'end',
]);

/**
 * Returns the keys that go to the prompt while a question is open: text, and keys that edit text.
 */
export function keysForPrompt(keys: readonly Key[]): readonly Key[] {
  return keys.filter(
    (key) =>
      key.type === 'text' ||
      key.type === 'paste' ||
      (key.type === 'key' && editKeys.has(key.name) && !key.alt && !key.ctrl),
  );
}

/** Returns true for a key that always refuses: Esc, Ctrl-C or Ctrl-D. */
export function isCancelKey(key: Key): boolean {
  if (key.type === 'key') return key.name === 'escape';
  return key.type === 'chord' && key.ctrl && (key.char === 'c' || key.char === 'd');
}
