import type { JsonObject } from '@millrace/core';
import type { Message } from '../history/message.ts';
import { isObject, objectIn, textIn } from '../json/fields.ts';

/** The name of the part that stores a container if there is no call to store it with. */
export const containerName = 'container';

/** True if code in a container made the call and waits for its result. */
export function isProgrammatic(toolUse: JsonObject): boolean {
  const caller = textIn(objectIn(toolUse, 'caller'), 'type');
  return caller !== undefined && caller !== 'direct';
}

/**
 * The container to continue in: the one that the last answer waits in. Containers live for minutes
 * only, so older ones are not used.
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
