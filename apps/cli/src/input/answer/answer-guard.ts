import type { Clock } from '@millrace/agent';
import type { Key } from '../keys/key.ts';
import type { KeyRead } from '../keys/key-reader.ts';

/**
 * How long no key may arrive before a key answers a question. The period starts when the question
 * is on the screen, and starts again with each key. One second is longer than the pause between
 * two words of somebody who types, and shorter than the time to read a question.
 */
export const quietMs = 1000;

/**
 * How long no other key may follow the key that approves. A sentence that starts with "y" is then
 * not an approval.
 */
export const settleMs = 300;

/**
 * The last part of both periods. A busy process fires its timers late, and before it reads the keys
 * that arrived meanwhile. So a period ends only after a part of it in which keys could be read.
 */
const readableMs = 50;
/** Timers of a process that is not busy are less late than this. */
const toleranceMs = 20;

interface AnswerGuardOptions {
  readonly clock: Clock;
  /** Called when the answer of a key changes: the quiet period ended, or a held answer ended. */
  readonly onChange: () => void;
}

/** An answer that takes effect if no other key follows. */
interface HeldAnswer {
  readonly key: Key;
  readonly cancel: () => void;
}

/**
 * Decides whether a key may answer a question. Only a single key press that stands alone answers:
 * nothing arrives in the same read, in the quiet period before it, or shortly after it.
 */
export class AnswerGuard {
  readonly #options: AnswerGuardOptions;
  #isQuiet = false;
  #cancelQuiet: (() => void) | undefined;
  #held: HeldAnswer | undefined;

  constructor(options: AnswerGuardOptions) {
    this.#options = options;
  }

  /** The quiet period is over, so the next key can answer. */
  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  /** The key of an answer that takes effect soon. */
  get heldKey(): Key | undefined {
    return this.#held?.key;
  }

  /** Starts the quiet period again: the question appeared or changed, or a key arrived. */
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

  /** Answers when no other key has followed for a moment. */
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

  /** No question is open. */
  close(): void {
    this.release();
    this.#cancelQuiet?.();
    this.#cancelQuiet = undefined;
    this.#isQuiet = false;
  }
}

/** Calls back after a time, and after all keys that arrived in that time were read. */
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
  /** The refusal ended with Enter. */
  readonly isSent: boolean;
}

/** Returns the refusal in a read of several keys: "n" or "no", maybe with more words and Enter. */
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

/** Returns the keys that the prompt keeps while a question is open: text, and edits of it. */
export function keysForPrompt(keys: readonly Key[]): readonly Key[] {
  return keys.filter(
    (key) =>
      key.type === 'text' ||
      key.type === 'paste' ||
      (key.type === 'key' && editKeys.has(key.name) && !key.alt && !key.ctrl),
  );
}

/** Whether a key refuses at any time: Esc, Ctrl-C or Ctrl-D. */
export function isCancelKey(key: Key): boolean {
  if (key.type === 'key') return key.name === 'escape';
  return key.type === 'chord' && key.ctrl && (key.char === 'c' || key.char === 'd');
}
