import type { CustomPart, JsonValue } from '@millrace/core';
import type { Message } from '../history/message.ts';
import { isObject, textIn } from '../json/fields.ts';

/**
 * The hosted calls without a result and the results without a call: the API refuses both. A call may
 * still wait for its result in the last answer, as long as nobody has said anything else since.
 */
export function unpairedParts(messages: readonly Message[]): ReadonlySet<CustomPart> {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const goesOn = !messages.slice(last + 1).some(({ role }) => role === 'user');
  const hosted = messages.flatMap((message, place) =>
    customParts(message).map((part) => ({
      part,
      callId: callId(part.value),
      resultOf: field(part.value, 'tool_use_id'),
      mayWait: goesOn && place === last,
    })),
  );
  const calls = new Set(hosted.map(({ callId }) => callId));
  const answered = new Set(hosted.map(({ resultOf }) => resultOf));
  const unpaired = hosted.filter(({ callId, resultOf, mayWait }) => {
    if (resultOf !== undefined) return !calls.has(resultOf);
    return callId !== undefined && !answered.has(callId) && !mayWait;
  });
  return new Set(unpaired.map(({ part }) => part));
}

function customParts(message: Message): readonly CustomPart[] {
  if (message.role !== 'assistant') return [];
  return message.parts.flatMap((part) => (part.kind === 'custom' ? part : []));
}

function callId(value: JsonValue): string | undefined {
  return field(value, 'type')?.endsWith('_tool_use') ? field(value, 'id') : undefined;
}

function field(value: JsonValue, key: string): string | undefined {
  return isObject(value) ? textIn(value, key) : undefined;
}
