import type { CustomPart } from '@millrace/core';
import type { AssistantPart, Message } from '../history/message.ts';
import { isObject, textIn } from '../json/fields.ts';

/**
 * The messages without hosted calls that have no result and results that have no call, which many
 * providers refuse: a response that was cut leaves them. In the last answer a call may wait for its
 * result, as long as the user has said nothing since.
 */
export function withPairs(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const mayWait = !messages.slice(last + 1).some(({ role }) => role === 'user');
  const calls = idsOf(messages, 'tool-call');
  const results = idsOf(messages, 'tool-result');
  return messages.map((message, place) => {
    if (message.role !== 'assistant') return message;
    const isPaired = (part: AssistantPart) => {
      if (isHosted(part, 'tool-result')) return calls.has(idOf(part));
      if (!isHosted(part, 'tool-call')) return true;
      return results.has(idOf(part)) || (mayWait && place === last);
    };
    return { ...message, parts: message.parts.filter(isPaired) };
  });
}

function idsOf(messages: readonly Message[], type: string): ReadonlySet<string | undefined> {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.parts : []));
  return new Set(parts.flatMap((part) => (isHosted(part, type) ? [idOf(part)] : [])));
}

function isHosted(part: AssistantPart, type: string): part is CustomPart {
  return part.kind === 'custom' && isObject(part.value) && part.value['type'] === type;
}

function idOf({ value }: CustomPart): string | undefined {
  return isObject(value) ? textIn(value, 'toolCallId') : undefined;
}
