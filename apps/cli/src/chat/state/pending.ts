import {
  type AgentEvent,
  decodeTranscript,
  type JsonObject,
  type JsonValue,
  type SessionId,
  type ToolCallId,
  transcriptVersion,
} from '@millrace/core';

/** A call that waits for a person to say whether it may run. */
export interface PendingApproval {
  readonly session: SessionId;
  readonly id: ToolCallId;
  readonly name: string;
  readonly input: JsonValue | undefined;
  readonly reason: string | undefined;
  /** What an answer that lasts is about, as the policy wrote it. */
  readonly rule: string | undefined;
  /** Somebody has answered, and the answer is on its way. */
  readonly isAnswered: boolean;
}

/** Something that was said while it could not be heard yet. */
export interface QueuedMessage {
  readonly key: string;
  readonly when: 'steer' | 'follow_up';
  readonly text: string;
}

/** A message among the commands; undefined where it is none, or none that can be read. */
export function queuedMessage(key: string, command: JsonObject): QueuedMessage | undefined {
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
export function decidedCall({ command }: Answered): string | undefined {
  const { type, toolCallId } = command;
  const isDecision = type === 'approve' || type === 'deny';
  return isDecision && typeof toolCallId === 'string' ? toolCallId : undefined;
}
