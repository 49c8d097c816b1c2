import {
  type AgentEvent,
  decodeTranscript,
  type Item,
  type JsonObject,
  type JsonValue,
  transcriptVersion,
} from '@millrace/core';
import { endedCommand } from '@millrace/tools';
import { isModeNote } from '../../agent/session-mode.ts';
import type { ChatState, EventOf, QueuedMessage } from '../contract/chat-state.ts';

export function foldQueuedCommand(state: ChatState, event: EventOf<'command_queued'>): ChatState {
  const { key, command } = event;
  const message = queuedMessage(key, command);
  if (message !== undefined) return { ...state, queued: [...state.queued, message] };
  if (command['type'] === 'withdraw' && state.run === undefined)
    return { ...state, queued: state.queued.filter((one) => one.key !== command['key']) };
  if (command['type'] === 'abort') return { ...state, isStopping: state.run !== undefined };
  const { type, rule } = command;
  if (type === 'compact') return { ...state, awaitsSummary: true };
  if (type === 'revoke')
    return { ...state, sessionRules: state.sessionRules.filter((one) => one !== rule) };
  const decided = decidedCall(event);
  if (decided === undefined) return state;
  const approvals = state.approvals.map((one) =>
    one.id === decided ? { ...one, isAnswered: true } : one,
  );
  return { ...state, approvals };
}

/**
 * Returns the message of a command. Returns undefined for other commands. If the message is
 * invalid, its text is empty.
 */
function queuedMessage(key: string, command: JsonObject): QueuedMessage | undefined {
  if (command['type'] !== 'message') return undefined;
  const when = command['when'] === 'steer' ? 'steer' : 'follow_up';
  const items = itemsOf(command['items']);
  return { key, when, text: textOf(items), ended: endedCommand(items[0]?.metadata) };
}

function itemsOf(items: JsonValue | undefined): readonly Item[] {
  try {
    return decodeTranscript(JSON.stringify({ v: transcriptVersion, items }));
  } catch {
    return [];
  }
}

function textOf(items: readonly Item[]): string {
  const parts = items
    .flatMap((item) => item.parts)
    .filter((part) => part.kind !== 'text' || !isModeNote(part.text));
  return parts.map((part) => (part.kind === 'text' ? part.text : `[${part.kind}]`)).join('\n');
}

type CommandQueued = Extract<AgentEvent, { readonly type: 'command_queued' }>;

/** Returns the id of the call that an approve or deny command refers to. */
function decidedCall({ command }: CommandQueued): string | undefined {
  const { type, toolCallId } = command;
  const isDecision = type === 'approve' || type === 'deny';
  return isDecision && typeof toolCallId === 'string' ? toolCallId : undefined;
}
