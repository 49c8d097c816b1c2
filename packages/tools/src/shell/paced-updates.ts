import type { Clock } from '@millrace/agent';

export interface PacedUpdates {
  add(text: string): void;
  /** What is still held back. Nothing follows. */
  end(): void;
}

export interface Pace {
  readonly clock: Clock;
  /** Between one update and the next. */
  readonly intervalMs: number;
  /** Of one update. What is more is left out, but for its end. */
  readonly maxLength: number;
  /** Of all updates together. */
  readonly maxTotalLength: number;
}

/** Passes on what a command prints, at a pace and an amount that a log can bear. */
export function pacedUpdates(
  update: (text: string) => void,
  { clock, intervalMs, maxLength, maxTotalLength }: Pace,
): PacedUpdates {
  let pending = '';
  let leftOut = 0;
  let total = 0;
  let dueMs = clock.now();
  let cancel: (() => void) | undefined;

  const send = () => {
    cancel?.();
    cancel = undefined;
    dueMs = clock.now() + intervalMs;
    trim();
    const note = leftOut > 0 ? `[… ${leftOut} characters …]\n` : '';
    const text = note + pending;
    [pending, leftOut] = ['', 0];
    if (text === '' || total >= maxTotalLength) return;
    total += text.length;
    update(total < maxTotalLength ? text : `${text}\n[… no more is shown while it runs …]\n`);
  };
  const trim = () => {
    const excess = Math.max(0, pending.length - maxLength);
    // Not through the middle of a character.
    const from = /^[\uDC00-\uDFFF]/.test(pending.slice(excess, excess + 1)) ? excess + 1 : excess;
    leftOut += from;
    pending = pending.slice(from);
  };
  return {
    add(text) {
      pending += text;
      if (pending.length > 2 * maxLength) trim();
      const waitMs = dueMs - clock.now();
      if (waitMs <= 0) send();
      else cancel ??= clock.after(waitMs, send);
    },
    end: send,
  };
}
