import {
  type AgentEvent,
  decodeTranscript,
  type JsonObject,
  type JsonValue,
  transcriptVersion,
} from '@millrace/core';
import type { ChatState, EventOf, QueuedMessage } from '../contract/chat-state.ts';

export function queue(state: ChatState, event: EventOf<'command_queued'>): ChatState {
  const { key, command } = event;
  const message = queuedMessage(key, command);
  if (message !== undefined) return { ...state, queued: [...state.queued, message] };
  if (command['type'] === 'withdraw' && state.run === undefined)
    return { ...state, queued: state.queued.filter((one) => one.key !== command['key']) };
  if (command['type'] === 'abort') return { ...state, isStopping: state.run !== undefined };
  const { type, rule } = command;
  if (type === 'revoke')
    return { ...state, standing: state.standing.filter((one) => one !== rule) };
  const decided = decidedCall(event);
  if (decided === undefined) return state;
  const approvals = state.approvals.map((one) =>
    one.id === decided ? { ...one, isAnswered: true } : one,
  );
  return { ...state, approvals };
}

/** A message among the commands; undefined where it is none, or none that can be read. */
function queuedMessage(key: string, command: JsonObject): QueuedMessage | undefined {
  if (command['type'] !== 'message') return undefined;
  const when = command['when'] === 'steer' ? 'steer' : 'follow_up';
  return { key, when, text: textOf(command['items']) };
}

function textOf(items: JsonValue | undefined): string {
  try {
    const read = decodeTranscript(JSON.stringify({ v: transcriptVersion, items }));
    const parts = read.flatMap((item) => item.parts);
    return parts.map((part) => (part.kind === 'text' ? part.text : `[${part.kind}]`)).join('\n');
  } catch {
    return '';
  }
}

type Answered = Extract<AgentEvent, { readonly type: 'command_queued' }>;

/** The call that a command decides on. */
function decidedCall({ command }: Answered): string | undefined {
  const { type, toolCallId } = command;
  const isDecision = type === 'approve' || type === 'deny';
  return isDecision && typeof toolCallId === 'string' ? toolCallId : undefined;
}
