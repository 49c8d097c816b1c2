import type { JsonObject, JsonValue } from '@millrace/core';
import { arrayIn, countIn, isObject, objectIn, textIn } from '../json/fields.ts';
import { reasoningFieldNames } from './reasoning.ts';

/** What a chunk appends that says nothing else. */
export type SoleAppend =
  | { readonly to: 'text'; readonly text: string }
  | { readonly to: 'reasoning'; readonly field: string; readonly text: string }
  | { readonly to: 'arguments'; readonly index: number; readonly text: string };

/** Looks at every field, because one that is not known may mean something. */
export function soleAppend(chunk: JsonObject): SoleAppend | undefined {
  const [choice, ...others] = arrayIn(chunk, 'choices');
  if (!isObject(choice) || others.length > 0 || (choice['index'] ?? 0) !== 0) return undefined;
  const delta = objectIn(choice, 'delta');
  if (delta === undefined || !isEmpty(choice['finish_reason'])) return undefined;
  const said = Object.entries(delta).filter(([key, value]) => key !== 'role' && !isEmpty(value));
  const [[key, value] = ['', null]] = said;
  return said.length === 1 ? appendOf(key, value) : undefined;
}

function appendOf(key: string, value: JsonValue): SoleAppend | undefined {
  if (key === 'tool_calls') return argumentsOf(value);
  if (typeof value !== 'string') return undefined;
  if (key === 'content') return { to: 'text', text: value };
  return reasoningFieldNames.includes(key)
    ? { to: 'reasoning', field: key, text: value }
    : undefined;
}

/** A fragment that only its index assigns to its call. */
function argumentsOf(entries: JsonValue): SoleAppend | undefined {
  const [entry, ...others] = Array.isArray(entries) ? entries : [];
  if (!isObject(entry) || others.length > 0) return undefined;
  const { index: _index, type: _type, function: called, ...rest } = entry;
  const { arguments: _text, ...restOfCalled } = isObject(called) ? called : {};
  const index = countIn(entry, 'index');
  const text = textIn(objectIn(entry, 'function'), 'arguments');
  const isBare = Object.values({ ...rest, ...restOfCalled }).every(isEmpty);
  return isBare && index !== undefined && text !== undefined
    ? { to: 'arguments', index, text }
    : undefined;
}

function isEmpty(value: JsonValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  );
}
