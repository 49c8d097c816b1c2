import type { JsonObject } from '@millrace/core';
import type { Message } from '../history/message.ts';
import { isObject, objectIn, textIn } from '../json/fields.ts';

/** The name of the part that keeps a container which no call can keep. */
export const containerName = 'container';

/** Is the call made by code that waits for its result in a container? */
export function isProgrammatic(toolUse: JsonObject): boolean {
  const caller = textIn(objectIn(toolUse, 'caller'), 'type');
  return caller !== undefined && caller !== 'direct';
}

/**
 * The container to go on in: the one that the last answer waits in, if it does. A container lives for
 * minutes, so that no other is asked for.
 */
export function containerOf(messages: readonly Message[]): string | undefined {
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (last?.role !== 'assistant') return undefined;
  const containers = last.parts.flatMap((part) => {
    if (part.kind === 'custom') return part.name === containerName ? [part.value] : [];
    const data = part.kind === 'tool_call' ? part.providerState?.data : undefined;
    return isObject(data) ? [data['container']] : [];
  });
  const latest = containers.findLast((container) => isObject(container));
  return isObject(latest) ? textIn(latest, 'id') : undefined;
}
