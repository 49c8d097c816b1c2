import { isJsonObject, type JsonObject } from '@millrace/core';
import type { AssistantPart, Message } from '../history/message.ts';
import { isOfSession } from '../history/remote-state.ts';
import { objectIn, textIn } from '../json/fields.ts';

/** The name of the custom part that stores a container if the message has no call that could store it. */
export const containerName = 'container';

/** Returns whether code that runs in a container made the call. That code waits for the result. */
export function isProgrammatic(toolUse: JsonObject): boolean {
  const caller = textIn(objectIn(toolUse, 'caller'), 'type');
  return caller !== undefined && caller !== 'direct';
}

/**
 * Returns the id of the container in which the last answer waits, if it belongs to the session. Containers exist
 * only for minutes, so containers of earlier answers are not used.
 */
export function containerOf(
  messages: readonly Message[],
  session: string | undefined,
): string | undefined {
  const last = messages.findLast(({ role }) => role === 'assistant');
  const latest = last && containersIn(last).at(-1);
  return latest && isOfSession(latest, session) ? textIn(latest, 'id') : undefined;
}

/**
 * Returns the messages without code that waits in a container of a different session, because this code never
 * continues here. The calls that the code made are sent as calls that the model made itself.
 */
export function withoutForeignCode(
  messages: readonly Message[],
  session: string | undefined,
): readonly Message[] {
  const finished = new Set(
    messages
      .flatMap((message) => (message.role === 'assistant' ? message.parts : []))
      .map(resultOf),
  );
  return messages.map((message) => {
    const isForeign = containersIn(message).some((container) => !isOfSession(container, session));
    if (message.role !== 'assistant' || !isForeign) return message;
    return { ...message, parts: message.parts.flatMap((part) => partWithoutCode(part, finished)) };
  });
}

function containersIn(message: Message): readonly JsonObject[] {
  if (message.role !== 'assistant') return [];
  return message.parts.flatMap((part) => {
    const isContainer = part.kind === 'custom' && part.name === containerName;
    const container = isContainer ? part.value : stateOf(part)['container'];
    return isJsonObject(container) ? [container] : [];
  });
}

/** Returns a part of an answer whose code waits. The result is empty for the call of code without a result. */
function partWithoutCode(
  part: AssistantPart,
  finished: ReadonlySet<string | undefined>,
): readonly AssistantPart[] {
  const state = stateOf(part);
  if (part.kind === 'custom') {
    const isCall = isJsonObject(part.value) && textIn(part.value, 'type')?.endsWith('_tool_use');
    const isWaiting = isCall && !finished.has(textIn(part.value, 'id'));
    return isWaiting ? [] : [part];
  }
  const isCalledByCode = part.kind === 'tool_call' && isProgrammatic(state);
  if (!isCalledByCode || finished.has(textIn(objectIn(state, 'caller'), 'tool_id'))) return [part];
  const { caller: _code, ...data } = state;
  const { providerState } = part;
  return [{ ...part, ...(providerState && { providerState: { ...providerState, data } }) }];
}

/** Returns the id of the hosted call that a part is the result of. */
function resultOf(part: AssistantPart): string | undefined {
  return part.kind === 'custom' && isJsonObject(part.value)
    ? textIn(part.value, 'tool_use_id')
    : undefined;
}

function stateOf({ providerState }: AssistantPart): JsonObject {
  return isJsonObject(providerState?.data) ? providerState.data : {};
}
