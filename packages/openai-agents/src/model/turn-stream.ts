import type { StreamStep } from '@millrace/providers';

/** An additional receiver for a model's answer while it streams. */
export interface TurnStream {
  /**
   * Consumes the steps of one answer. Rejects if they cannot be stored, or if the answer failed. `handoffs`
   * contains the names of the tools that hand off the conversation.
   */
  send(steps: AsyncIterable<StreamStep>, handoffs: ReadonlySet<string>): Promise<void>;
}

/**
 * Passes steps to a second reader, one step at a time. The producer waits until the reader requests the next
 * step.
 */
export class StepRelay implements AsyncIterable<StreamStep> {
  #next = Promise.withResolvers<IteratorResult<StreamStep>>();
  #readRequested = Promise.withResolvers<void>();
  #hasReaderLeft = false;

  /** True if the reader has stopped reading. */
  get hasReaderLeft(): boolean {
    return this.#hasReaderLeft;
  }

  /** Resolves when the reader has processed the step or has stopped reading. */
  async push(step: StreamStep): Promise<void> {
    if (this.#hasReaderLeft) return;
    await this.#readRequested.promise;
    if (this.#hasReaderLeft) return;
    this.#readRequested = Promise.withResolvers();
    this.#next.resolve({ done: false, value: step });
    await this.#readRequested.promise;
  }

  /** Records that the reader has stopped reading, or never started. */
  readerLeft(): void {
    this.#hasReaderLeft = true;
    this.#readRequested.resolve();
  }

  /** Ends the stream. With a reason, the reader gets this error instead of a normal end. */
  close(reason?: Error): void {
    if (reason === undefined) this.#next.resolve({ done: true, value: undefined });
    else this.#next.reject(reason);
    this.#next.promise.catch(() => {});
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamStep> {
    return {
      next: async () => {
        this.#readRequested.resolve();
        const { promise } = this.#next;
        const result = await promise;
        this.#next = Promise.withResolvers();
        return result;
      },
      return: async () => {
        this.readerLeft();
        return { done: true, value: undefined };
      },
    };
  }
}
