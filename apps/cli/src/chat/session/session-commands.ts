import {
  type AgentEvent,
  encodeTranscript,
  type Item,
  type JsonObject,
  type JsonValue,
  type ToolCallId,
} from '@millrace/core';
import type { QueuedMessage } from '../contract/chat-state.ts';

/** What is left for a session's driver, whoever that is. */
export function messageCommand(item: Item, when: 'steer' | 'follow_up'): JsonObject {
  const { items } = JSON.parse(encodeTranscript([item])) as { readonly items: JsonValue };
  return { type: 'message', when, items };
}

export interface Approving {
  /** What the call runs with instead. */
  readonly input?: JsonValue | undefined;
  /** Also for what is asked about by the same rule, to the session's end. */
  readonly forSession?: boolean | undefined;
}

export function approveCommand(
  toolCallId: ToolCallId,
  { input, forSession = false }: Approving,
  by: string,
): JsonObject {
  const changed = input === undefined ? {} : { input };
  return { type: 'approve', toolCallId, by, ...changed, ...(forSession && { until: 'session' }) };
}

export function denyCommand(
  toolCallId: ToolCallId,
  reason: string | undefined,
  by: string,
): JsonObject {
  return { type: 'deny', toolCallId, by, ...(reason !== undefined && { reason }) };
}

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
