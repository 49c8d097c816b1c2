import type { RunId } from '@millrace/core';

/** A message that was sent to a sync agent, and the run that answers it. */
interface SentMessage {
  readonly text: string;
  readonly run: Promise<RunId>;
}

const maxKept = 10_000;

/**
 * Which messages sync agents got, so that a client that sends one again gets the answer that there is.
 * Of this process only: what is said to agent loops and async agents has its key on the log.
 */
export class SentMessages {
  readonly #sent = new Map<string, SentMessage>();

  get(taskId: string, key: string): SentMessage | undefined {
    return this.#sent.get(`${taskId} ${key}`);
  }

  add(taskId: string, key: string, message: SentMessage): void {
    const name = `${taskId} ${key}`;
    this.#sent.set(name, message);
    for (const oldest of this.#sent.keys()) {
      if (this.#sent.size <= maxKept) break;
      this.#sent.delete(oldest);
    }
    // What did not get there may be sent again.
    message.run.catch(() => this.#sent.delete(name));
  }
}

const all = new WeakMap<object, SentMessages>();

/** Those of the server that writes to this log. */
export function sentTo(log: object): SentMessages {
  const known = all.get(log) ?? new SentMessages();
  all.set(log, known);
  return known;
}
