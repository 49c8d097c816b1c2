import type { SessionId } from '@millrace/core';
import { webGlobals } from './web-platform.ts';

type OnChange = (sessions?: readonly SessionId[]) => void;
type Channel = InstanceType<NonNullable<ReturnType<typeof webGlobals>['BroadcastChannel']>>;

/**
 * Notifies the logs of other tabs and workers about commits. A tab can end between a commit and its
 * notice, so watchers also check the store at a regular interval.
 */
export class ChangeChannel {
  readonly #name: string;
  readonly #pollMs: number;
  readonly #listeners = new Set<OnChange>();
  #channel: Channel | undefined;
  #poll: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(database: string, pollMs: number) {
    this.#name = `millrace ${database}`;
    this.#pollMs = pollMs;
  }

  /** Reports a commit of this log to the others. */
  publish(sessions: readonly SessionId[]): void {
    if (!this.#isClosed) this.#opened()?.postMessage(sessions);
  }

  watch(listener: OnChange): () => void {
    this.#listeners.add(listener);
    this.#opened();
    this.#poll ??= setInterval(() => this.#notify(), this.#pollMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopPolling();
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#stopPolling();
    this.#channel?.close();
    this.#channel = undefined;
  }

  /** Undefined where the runtime has no channels. The interval still finds changes there. */
  #opened(): Channel | undefined {
    const { BroadcastChannel: Bus } = webGlobals();
    if (this.#channel !== undefined || Bus === undefined) return this.#channel;
    const channel = new Bus(this.#name);
    channel.onmessage = ({ data }) => {
      // Another program of the site may use the same name, so the content is only a hint.
      this.#notify(Array.isArray(data) ? (data as readonly SessionId[]) : undefined);
    };
    this.#channel = channel;
    return channel;
  }

  #notify(sessions?: readonly SessionId[]): void {
    for (const listener of this.#listeners) listener(sessions);
  }

  #stopPolling(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}
