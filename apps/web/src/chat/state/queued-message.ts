import type { JsonObject, JsonValue } from '@millrace/core';

/** Something that was said and is not heard yet. */
export interface QueuedMessage {
  readonly key: string;
  readonly when: 'steer' | 'follow_up';
  readonly text: string;
}

/** Undefined where the command is none that says something. */
export function queuedMessage(key: string, command: JsonObject): QueuedMessage | undefined {
  if (command['type'] === 'event')
    return { key, when: 'follow_up', text: contentText(command['content']) };
  if (command['type'] !== 'message') return undefined;
  const when = command['when'] === 'steer' ? 'steer' : 'follow_up';
  const parts = listOf(command['items']).flatMap((item) => listOf(fields(item)['parts']));
  const texts = parts
    .map((part) => fields(part)['text'])
    .filter((text) => typeof text === 'string');
  return { key, when, text: texts.join('\n') };
}

function contentText(content: JsonValue | undefined): string {
  const said = fields(content)['content'];
  return typeof said === 'string' ? said : 'An event';
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function fields(value: JsonValue | undefined): JsonObject {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : {};
}
