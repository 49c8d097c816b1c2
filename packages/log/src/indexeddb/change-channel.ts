import type { SessionId } from '@millrace/core';
import { webGlobals } from './web-platform.ts';

type OnChange = (sessions?: readonly SessionId[]) => void;
type Channel = InstanceType<NonNullable<ReturnType<typeof webGlobals>['BroadcastChannel']>>;

/**
 * Notifies the logs of other tabs and workers about commits. A tab can end after a commit and before its
 * notice. Watchers therefore also check the store at a regular interval.
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

  /** Notifies the other logs that these sessions changed. */
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

  /**
   * Returns the channel. Returns undefined if the runtime has no `BroadcastChannel`. Watchers then find
   * changes only at the regular interval.
   */
  #opened(): Channel | undefined {
    const { BroadcastChannel: Bus } = webGlobals();
    if (this.#channel !== undefined || Bus === undefined) return this.#channel;
    const channel = new Bus(this.#name);
    channel.onmessage = ({ data }) => {
      // A different program of the same site may use the same channel name, so a message can have any
      // content. A message with unknown content is treated as a change of all sessions.
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
