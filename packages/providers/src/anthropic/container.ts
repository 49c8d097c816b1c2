import { isJsonObject, type JsonObject } from '@millrace/core';
import type { Message } from '../history/message.ts';
import { objectIn, textIn } from '../json/fields.ts';

/** The name of the custom part that stores a container if the message has no call that could store it. */
export const containerName = 'container';

/** Returns whether code that runs in a container made the call. That code waits for the result. */
export function isProgrammatic(toolUse: JsonObject): boolean {
  const caller = textIn(objectIn(toolUse, 'caller'), 'type');
  return caller !== undefined && caller !== 'direct';
}

/**
 * Returns the id of the container in which the last answer waits, or undefined. Containers exist only for
 * minutes, so containers of earlier answers are not used.
 */
export function containerOf(messages: readonly Message[]): string | undefined {
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (last?.role !== 'assistant') return undefined;
  const containers = last.parts.flatMap((part) => {
    if (part.kind === 'custom') return part.name === containerName ? [part.value] : [];
    const data = part.kind === 'tool_call' ? part.providerState?.data : undefined;
    return isJsonObject(data) ? [data['container']] : [];
  });
  const latest = containers.findLast((container) => isJsonObject(container));
  return isJsonObject(latest) ? textIn(latest, 'id') : undefined;
}
