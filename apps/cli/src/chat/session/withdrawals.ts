import type { AgentEvent } from '@millrace/core';
import type { QueuedMessage } from '../state/pending.ts';

/** Messages that are taken back. Whether somebody had heard them already, the log says. */
export class Withdrawals {
  /** By the key of the command that takes it back. */
  readonly #messages = new Map<string, Pick<QueuedMessage, 'key' | 'text'>>();

  add(by: string, message: Pick<QueuedMessage, 'key' | 'text'>): void {
    this.#messages.set(by, message);
  }

  delete(by: string): void {
    this.#messages.delete(by);
  }

  has(key: string): boolean {
    return [...this.#messages.values()].some((message) => message.key === key);
  }

  /** What nobody has heard, and nobody will: that is known when its withdrawal is dealt with before it is. */
  hear(event: AgentEvent): string | undefined {
    if (event.type !== 'command_consumed') return undefined;
    const back = this.#messages.get(event.key);
    this.#messages.delete(event.key);
    for (const [by, { key }] of this.#messages) if (key === event.key) this.#messages.delete(by);
    return back?.text;
  }
}
