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
  /** The input for the call. Default: the input from the model. */
  readonly input?: JsonValue | undefined;
  /**
   * The state of the file that the user saw (`ChangePreview.basis`). The call changes nothing in a different state.
   * Default: any state.
   */
  readonly basis?: string | undefined;
  /**
   * If true, all calls that match the same rule are allowed until the session ends. Default: false.
   */
  readonly forSession?: boolean | undefined;
}

export function approveCommand(
  toolCallId: ToolCallId,
  { input, basis, forSession = false }: ApprovalOptions,
  by: string,
): JsonObject {
  const changed = {
    ...(input !== undefined && { input }),
    ...(basis !== undefined && { basis }),
  };
  return { type: 'approve', toolCallId, by, ...changed, ...(forSession && { until: 'session' }) };
}

export function denyCommand(
  toolCallId: ToolCallId,
  reason: string | undefined,
  by: string,
): JsonObject {
  return { type: 'deny', toolCallId, by, ...(reason !== undefined && { reason }) };
}

/**
 * The messages that are being withdrawn. A driver may process a message before its withdrawal. The
 * log shows the order.
 */
export class Withdrawals {
  /** The messages, by the key of the withdraw command. */
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
   * Returns the text of a message that was withdrawn in time. This means that the driver consumed
   * the withdrawal before the message.
   */
  handle(event: AgentEvent): string | undefined {
    if (event.type !== 'command_consumed') return undefined;
    const back = this.#messages.get(event.key);
    this.#messages.delete(event.key);
    for (const [by, { key }] of this.#messages) if (key === event.key) this.#messages.delete(by);
    return back?.text;
  }
}
