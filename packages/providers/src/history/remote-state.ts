import {
  type CustomPart,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '@millrace/core';
import { arrayIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import type { AssistantPart, Message } from './message.ts';

/**
 * Adds the session to data that names state at a provider, for example a container or a remote task. Such state
 * changes with each use, so it belongs to the session that created it. A copy of the session has the same data,
 * but must not use the state: each of the two sessions could then read what the other one stores there.
 */
export function withSession(data: JsonObject, session: string | undefined): JsonObject {
  return session === undefined ? data : { ...data, session };
}

/**
 * Returns whether the state that the data names belongs to the session. Requests without a session use only
 * state that was created without a session.
 */
export function isOfSession(data: JsonObject, session: string | undefined): boolean {
  return data['session'] === session;
}

/** Adds the session to the state of a hosted item that ran in a container of the provider. */
export function withContainerSession(
  state: JsonObject,
  item: JsonValue,
  session: string | undefined,
): JsonObject {
  return namesContainer(item) ? withSession(state, session) : state;
}

/**
 * Returns the messages without items that name a container of a different session. The API continues the
 * container that an item names, and it rejects the item without its container. Such an item is therefore sent
 * as text with its code and its output.
 */
export function withoutForeignContainers(
  messages: readonly Message[],
  session: string | undefined,
): readonly Message[] {
  const foreignCalls = new Set<string>();
  const isForeign = (part: CustomPart) => {
    const callId = isJsonObject(part.value) ? textIn(part.value, 'call_id') : undefined;
    if (callId === undefined) return isElsewhere(part, session);
    if (isElsewhere(part, session)) foreignCalls.add(callId);
    // The output of a call in a container names only the call.
    return foreignCalls.has(callId);
  };
  return messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const parts = message.parts.flatMap((part): readonly AssistantPart[] =>
      part.kind === 'custom' && isForeign(part) ? codeText(part.value) : [part],
    );
    return { ...message, parts };
  });
}

/**
 * Returns the messages without references to items that ran in a container of a different session. Packages of
 * the AI SDK can send the id of an item instead of its content, and the item names its container. An answer with
 * such an item is therefore sent as plain text and calls, without its reasoning and its ids.
 */
export function withoutForeignReferences(
  messages: readonly Message[],
  session: string | undefined,
): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const isForeign = message.parts.some(
      (part) => part.kind === 'custom' && isElsewhere(part, session),
    );
    return isForeign ? { ...message, parts: message.parts.flatMap(plainPart) } : message;
  });
}

function plainPart(part: AssistantPart): readonly AssistantPart[] {
  if (part.kind === 'reasoning') return [];
  if (part.kind === 'custom') return codeText(part.value);
  const { providerState: _ids, ...plain } = part;
  return [plain];
}

/** Returns whether an item ran in a container that does not belong to the session. */
function isElsewhere({ value, providerState }: CustomPart, session: string | undefined): boolean {
  const state = isJsonObject(providerState?.data) ? providerState.data : {};
  return namesContainer(value) && !isOfSession(state, session);
}

/** Returns whether a value names a container, at any depth. The input of a call can be JSON text. */
function namesContainer(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!isJsonObject(value)) return value.some(namesContainer);
  const isNamed = [value['container_id'], value['containerId']].some(isText);
  const values = [...Object.values(value), inputOf(value) ?? null];
  return isNamed || values.some(namesContainer);
}

/** Returns the input of a call whose input is JSON text. Returns undefined for other values. */
function inputOf(value: JsonObject): JsonObject | undefined {
  const parsed = parseJson(textIn(value, 'input') ?? '');
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

/** Returns the code or the output of an item as text. Returns an empty list if the item has neither. */
function codeText(value: JsonValue): readonly AssistantPart[] {
  if (!isJsonObject(value)) return [];
  const commands = arrayIn(objectIn(value, 'action'), 'commands');
  const code = textIn(value, 'code') ?? textIn(inputOf(value), 'code') ?? texts(commands);
  const outputs = [value, objectIn(value, 'result')].flatMap((one) => [
    ...objectsIn(one, 'outputs'),
    ...objectsIn(one, 'output'),
  ]);
  const output = texts(outputs.flatMap((one) => [one['logs'], one['stdout'], one['stderr']]));
  const text = texts([
    code && `Code that ran in an earlier container:\n${code}`,
    output && `Output of the code:\n${output}`,
  ]);
  return text === '' ? [] : [{ kind: 'text', text: text.toWellFormed() }];
}

function texts(values: readonly (JsonValue | undefined)[]): string {
  return values.filter(isText).join('\n');
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '';
}
