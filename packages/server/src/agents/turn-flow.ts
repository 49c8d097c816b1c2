import type { DraftRecord } from '@millrace/core';
import type { JournalTurn } from '../contract/task-journal.ts';

/** How much may be under way to the log before whoever streams waits. */
const maxInFlight = 256;
const maxLength = 2 ** 20;

/** Writes to a turn without waiting for each append, and never has more than so much under way. */
export class TurnFlow {
  readonly #turn: Pick<JournalTurn, 'append'>;
  #inFlight = 0;
  #length = 0;
  #last: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(turn: Pick<JournalTurn, 'append'>) {
    this.#turn = turn;
  }

  /** Resolves when there is room for more. Rejects where the log does not take it, or did not before. */
  async add(drafts: readonly DraftRecord[]): Promise<void> {
    this.#assertWhole();
    if (drafts.length === 0) return;
    const length = drafts.reduce((sum, draft) => sum + lengthOf(draft), 0);
    this.#inFlight++;
    this.#length += length;
    this.#last = this.#turn
      .append(drafts)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#inFlight--;
        this.#length -= length;
      });
    if (this.#inFlight >= maxInFlight || this.#length >= maxLength) await this.settled();
  }

  /** When all that was given is on the log. */
  async settled(): Promise<void> {
    await this.#last;
    this.#assertWhole();
  }

  #assertWhole(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

function lengthOf({ delta }: DraftRecord): number {
  return delta !== undefined && 'chunk' in delta ? delta.chunk.length : 0;
}
