import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { BadLine } from './bad-line.ts';

/** A line that is an object of JSON. */
export function fieldsOf(line: string): JsonObject {
  const parsed = parseJson(line);
  if (!parsed.ok) throw new BadLine(`it is not JSON (${parsed.failure.message})`);
  return objectIn(parsed.value, 'it');
}

export function objectIn(value: JsonValue, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw new BadLine(`${what} is not an object`);
}

/** A whole number from 0 on. */
export function countIn(fields: JsonObject, name: string): number {
  const value = fields[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new BadLine(`${name} is not a whole number from 0 on`);
}

export function numberIn(fields: JsonObject, name: string): number {
  const value = fields[name];
  if (typeof value === 'number') return value;
  throw new BadLine(`${name} is not a number`);
}

export function textIn(fields: JsonObject, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw new BadLine(`${name} is not a text`);
}

export function flagIn(fields: JsonObject, name: string): boolean {
  const value = fields[name];
  if (typeof value === 'boolean') return value;
  throw new BadLine(`${name} is neither true nor false`);
}
