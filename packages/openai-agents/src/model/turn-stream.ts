import type { StreamStep } from '@millrace/providers';

/** Where a model's answer goes besides the SDK, as it comes. */
export interface TurnStream {
  /**
   * Takes the steps of one answer. Rejects where they cannot be kept, and where the answer failed.
   * `handoffs` are the names of the calls that hand over to another agent.
   */
  send(steps: AsyncIterable<StreamStep>, handoffs: ReadonlySet<string>): Promise<void>;
}

/** Hands steps to a second reader, one at a time: whoever gives waits until the reader wants more. */
export class StepRelay implements AsyncIterable<StreamStep> {
  #next = Promise.withResolvers<IteratorResult<StreamStep>>();
  #wanted = Promise.withResolvers<void>();
  #isLeft = false;

  /** The reader is gone, with or without an end. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Resolves when the reader has dealt with it, or is gone. */
  async push(step: StreamStep): Promise<void> {
    if (this.#isLeft) return;
    await this.#wanted.promise;
    if (this.#isLeft) return;
    this.#wanted = Promise.withResolvers();
    this.#next.resolve({ done: false, value: step });
    await this.#wanted.promise;
  }

  /** Nobody reads any more, or ever did. */
  leave(): void {
    this.#isLeft = true;
    this.#wanted.resolve();
  }

  /** There is no more. Where the last step had no end, that is because of this. */
  close(reason?: Error): void {
    if (reason === undefined) this.#next.resolve({ done: true, value: undefined });
    else this.#next.reject(reason);
    this.#next.promise.catch(() => {});
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamStep> {
    return {
      next: async () => {
        this.#wanted.resolve();
        const { promise } = this.#next;
        const result = await promise;
        this.#next = Promise.withResolvers();
        return result;
      },
      return: async () => {
        this.leave();
        return { done: true, value: undefined };
      },
    };
  }
}
