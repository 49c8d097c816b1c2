import type { AgentEvent } from '@millrace/core';
import { ClientError } from '../contract/client-error.ts';

/** Maximum number of waiting events. Above it, the reader gets the error `lagging`. */
const maxWaiting = 50_000;

type Next = IteratorResult<AgentEvent, undefined>;

/** A queue of folded events for one reader. */
export class EventQueue implements AsyncIterableIterator<AgentEvent, undefined> {
  #waiting: AgentEvent[] = [];
  #taken = 0;
  #readers: PromiseWithResolvers<Next>[] = [];
  #end: { readonly error: unknown } | 'done' | undefined;
  readonly #onOver: (queue: EventQueue) => void;

  constructor(onOver: (queue: EventQueue) => void) {
    this.#onOver = onOver;
  }

  get length(): number {
    return this.#waiting.length - this.#taken;
  }

  push(events: readonly AgentEvent[]): void {
    if (this.#end !== undefined) return;
    for (const event of events) {
      const reader = this.#readers.shift();
      if (reader === undefined) this.#waiting.push(event);
      else reader.resolve({ done: false, value: event });
    }
    if (this.length > maxWaiting) this.fail(lagging(this.length));
  }

  /** Ends the queue. The reader can still read the waiting events. */
  end(): void {
    this.#over('done');
  }

  fail(error: unknown): void {
    this.#over({ error });
  }

  async next(): Promise<Next> {
    const value = this.#take();
    if (value !== undefined) return { done: false, value };
    if (this.#end === 'done') return { done: true, value: undefined };
    if (this.#end !== undefined) {
      const { error } = this.#end;
      this.#end = 'done';
      throw error;
    }
    const reader = Promise.withResolvers<Next>();
    this.#readers.push(reader);
    return reader.promise;
  }

  async return(): Promise<Next> {
    this.#waiting = [];
    this.#taken = 0;
    this.#over('done');
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): AgentEvent | undefined {
    const event = this.#waiting[this.#taken];
    if (event === undefined) return undefined;
    this.#taken++;
    // The array is shortened rarely, because this moves all remaining events.
    if (this.#taken >= 1024 && this.#taken * 2 >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#taken);
      this.#taken = 0;
    }
    return event;
  }

  #over(end: { readonly error: unknown } | 'done'): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const [first, ...others] = this.#readers.splice(0);
    if (end === 'done') first?.resolve({ done: true, value: undefined });
    else if (first !== undefined) {
      this.#end = 'done';
      first.reject(end.error);
    }
    for (const reader of others) reader.resolve({ done: true, value: undefined });
    this.#onOver(this);
  }
}

function lagging(waiting: number): ClientError {
  const message = `Cannot keep more than ${waiting} events. Read faster, or use the snapshot`;
  return new ClientError('lagging', message);
}
