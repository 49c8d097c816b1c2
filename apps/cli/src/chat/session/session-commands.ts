import {
  type AgentEvent,
  encodeTranscript,
  type Item,
  type JsonObject,
  type JsonValue,
  type ToolCallId,
} from '@millrace/core';
import type { QueuedMessage } from '../contract/chat-state.ts';

/** Returns the command that submits a message to the driver of a session. */
export function messageCommand(item: Item, when: 'steer' | 'follow_up'): JsonObject {
  const { items } = JSON.parse(encodeTranscript([item])) as { readonly items: JsonValue };
  return { type: 'message', when, items };
}

export interface ApprovalOptions {
  /** Replaces the input of the call. Default: the model's input. */
  readonly input?: JsonValue | undefined;
  /** Also allows everything that matches the same rule until the session ends. Default: false. */
  readonly forSession?: boolean | undefined;
}

export function approveCommand(
  toolCallId: ToolCallId,
  { input, forSession = false }: ApprovalOptions,
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

/** Messages that are being withdrawn. The log decides whether they were processed before. */
export class Withdrawals {
  /** Keyed by the key of the withdraw command. */
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

  /**
   * Returns the text of a message that was withdrawn in time: its withdrawal was consumed before
   * the message.
   */
  handle(event: AgentEvent): string | undefined {
    if (event.type !== 'command_consumed') return undefined;
    const back = this.#messages.get(event.key);
    this.#messages.delete(event.key);
    for (const [by, { key }] of this.#messages) if (key === event.key) this.#messages.delete(by);
    return back?.text;
  }
}
