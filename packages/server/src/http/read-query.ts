import { parseJson } from '@millrace/core';
import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * What a query says, as the schema's types: numbers and yes-or-no as such, lists joined by commas or
 * given several times, objects as JSON. What is empty counts as not given.
 */
export function readQuery(schema: z.ZodObject, values: Values): Values {
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined && value !== '') read[name] = readValue(name, kindOf(field), value);
  }
  return read;
}

export type QueryKind = 'text' | 'number' | 'boolean' | 'list' | 'json';

/** How a field of a query is written. */
export function kindOf(field: z.core.$ZodType): QueryKind {
  const inner = unwrap(field);
  switch (inner._zod.def.type) {
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return 'list';
    case 'custom':
    case 'object':
    case 'union':
      return 'json';
    default:
      return 'text';
  }
}

function unwrap(field: z.core.$ZodType): z.core.$ZodType {
  const isWrapper =
    field instanceof z.ZodOptional ||
    field instanceof z.ZodNullable ||
    field instanceof z.ZodDefault;
  return isWrapper ? unwrap(field.unwrap() as z.core.$ZodType) : field;
}

function readValue(name: string, kind: QueryKind, value: unknown): unknown {
  if (kind === 'list') return [value].flat().flatMap((text) => String(text).split(','));
  // Of a value that is given several times, which one is meant cannot be known: the schema refuses.
  if (typeof value !== 'string') return value;
  switch (kind) {
    case 'text':
      return value;
    case 'number':
      return /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    case 'boolean':
      return value === 'true' ? true : value === 'false' ? false : value;
    case 'json':
      return readJsonValue(name, value);
  }
}

function readJsonValue(name: string, text: string): unknown {
  const result = parseJson(text, { maxDepth: 32, maxTextLength: 2 ** 14 });
  if (result.ok) return result.value;
  throw new ServerError('invalid', `Cannot read ${name}: it is no JSON. ${result.failure.message}`);
}
