import { ServerError } from '../contract/server-error.ts';

/**
 * Notices what a connection lost or doubled, where an agent numbers its lines: 1, 2, 3 … Whoever does
 * not number them is trusted.
 */
export class LineSequence {
  #last = 0;
  #repeated = 0;

  get repeated(): number {
    return this.#repeated;
  }

  /** Whether the line is new. Throws where lines before it are missing. */
  isNew(sequence: unknown): boolean {
    if (!Number.isSafeInteger(sequence)) return true;
    const number = Number(sequence);
    if (number <= this.#last) {
      this.#repeated++;
      return false;
    }
    if (number !== this.#last + 1) throw missing(this.#last, number);
    this.#last = number;
    return true;
  }
}

function missing(last: number, next: number): ServerError {
  const message = `Cannot go on with the agent's answer: line ${next} came after line ${last}, and what lies between is lost`;
  return new ServerError('agent_failed', message, { last, next });
}
