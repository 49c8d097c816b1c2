import type { Clock } from '@millrace/agent';
import type { Key } from '../keys/key.ts';
import type { KeyRead } from '../keys/key-reader.ts';

/**
 * How long the quiet period lasts. A key answers a question only if no other key arrived in this
 * time before it. The period starts when the question is on the screen, and starts again with each
 * key. One second is longer than the pause between two typed words, and shorter than the time to
 * read a question.
 */
export const quietMs = 1000;

/**
 * How long an approval waits for another key. If another key follows in this time, it is not an
 * approval, but for example a sentence that starts with "y".
 */
export const settleMs = 300;

/**
 * The last part of both periods, in which the process must be able to read keys. A busy process
 * runs its timers late, before it reads the keys that arrived meanwhile. So a period ends only
 * after this part was on time.
 */
const readableMs = 50;
/** The maximum delay of a timer in a process that is not busy. */
const toleranceMs = 20;

interface AnswerGuardOptions {
  readonly clock: Clock;
  /** Called when the quiet period ends, and when a held answer takes effect or is cancelled. */
  readonly onChange: () => void;
}

/** An answer that takes effect if no other key follows. */
interface HeldAnswer {
  readonly key: Key;
  readonly cancel: () => void;
}

/**
 * Decides whether a key may answer a question. Only a single key press is an answer. No other key
 * may arrive in the same read, in the quiet period before it, or shortly after it.
 */
export class AnswerGuard {
  readonly #options: AnswerGuardOptions;
  #isQuiet = false;
  #cancelQuiet: (() => void) | undefined;
  #held: HeldAnswer | undefined;

  constructor(options: AnswerGuardOptions) {
    this.#options = options;
  }

  /** True if the quiet period is over, so that the next key can answer. */
  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  /** The key of an answer that takes effect soon. */
  get heldKey(): Key | undefined {
    return this.#held?.key;
  }

  /**
   * Starts the quiet period again. Call it when the question appears or changes, or when a key
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

  /** Waits a moment, and then calls `answer` if no other key has followed. */
  hold(key: Key, answer: () => void): void {
    const { clock, onChange } = this.#options;
    const cancel = afterReading(clock, settleMs, () => {
      this.#held = undefined;
      answer();
      onChange();
    });
    this.#held = { key, cancel };
  }

  /** Cancels a held answer and returns its key. */
  release(): Key | undefined {
    const held = this.#held;
    this.#held = undefined;
    held?.cancel();
    return held?.key;
  }

  /** Cancels the quiet period and a held answer. Call it when no question is open. */
  close(): void {
    this.release();
    this.#cancelQuiet?.();
    this.#cancelQuiet = undefined;
    this.#isQuiet = false;
  }
}

/** Calls `done` after a time, when all keys that arrived in that time were read. */
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

/** A refusal that was typed or pasted in one piece. */
export interface Refusal {
  /** The words after "no", if there are any. */
  readonly reason: string | undefined;
  /** True if the text ended with Enter. */
  readonly isSent: boolean;
}

/**
 * Returns the refusal in keys that arrived together: "n" or "no", possibly with more words and
 * Enter.
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

/** Returns the keys that the prompt keeps while a question is open: text and edits of text. */
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
