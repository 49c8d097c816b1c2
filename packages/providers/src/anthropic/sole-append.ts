import type { JsonObject } from '@millrace/core';
import { objectIn, textIn } from '../json/fields.ts';

/** Which field of each delta has the text, where it has nothing else. */
const textFields: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
};

export interface SoleAppend {
  readonly text: string;
  /** The same delta with another text. */
  readonly deltaOf: (text: string) => JsonObject;
}

/** What a message appends that says nothing else. */
export function soleAppend(message: JsonObject): SoleAppend | undefined {
  const delta = message['type'] === 'content_block_delta' ? objectIn(message, 'delta') : undefined;
  const type = textIn(delta, 'type') ?? '';
  const field = Object.hasOwn(textFields, type) ? (textFields[type] ?? '') : '';
  const text = textIn(delta, field);
  if (delta === undefined || text === undefined || Object.keys(delta).length > 2) return undefined;
  return { text, deltaOf: (other) => ({ type, [field]: other }) };
}
