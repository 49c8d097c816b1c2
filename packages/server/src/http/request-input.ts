import { type JsonFailure, type JsonLimits, type JsonValue, parseJson } from '@millrace/core';
import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import type { HttpLimits } from './http-limits.ts';

type JsonResult =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly code: JsonFailure['code'] | 'encoding'; readonly why: string };

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Parses a JSON body. The error contains the position and never the text of the body. */
export function readJson(bytes: Uint8Array, limits: HttpLimits): JsonResult {
  const text = decodeText(bytes);
  if (text === undefined) return { ok: false, code: 'encoding', why: 'it is not UTF-8' };
  const result = parseJson(text, jsonLimits(limits));
  if (result.ok) return result;
  const { code, position, message } = result.failure;
  return { ok: false, code, why: `${message} (at character ${position})` };
}

/** Returns the limits of a JSON body. */
export function jsonLimits(limits: HttpLimits): JsonLimits {
  return {
    maxTextLength: limits.maxBodyBytes,
    maxDepth: limits.maxJsonDepth,
    maxValues: limits.maxJsonValues,
    maxKeys: limits.maxJsonKeys,
  };
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Converts the texts of a query to the types of the schema. A list is separated by commas, or its parameter
 * is repeated. An object is JSON. An empty text counts as missing.
 */
export function readQuery(schema: z.ZodObject, values: Values): Values {
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined && value !== '')
      read[name] = readValue(name, queryKindOf(field), value);
  }
  return read;
}

export type QueryKind = 'text' | 'number' | 'boolean' | 'list' | 'json';

/** Returns the kind of a query field, which determines how its value is written. */
export function queryKindOf(field: z.core.$ZodType): QueryKind {
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
  // A repeated value is ambiguous. It stays a list, and the schema rejects it.
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
  throw new ServerError(
    'invalid',
    `Cannot read ${name}: it is not valid JSON. ${result.failure.message}`,
  );
}

const maxIssues = 5;

/**
 * Validates a value and returns the output of the schema. The error contains the location of the invalid
 * value, and never the value itself.
 */
export function validate<S extends z.ZodType>(
  schema: S,
  value: unknown,
  what: string,
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap(flatten);
  const shown = issues.slice(0, maxIssues).map(({ path, message }) => `${path}: ${message}`);
  const more = issues.length > maxIssues ? ` (and ${issues.length - maxIssues} more)` : '';
  throw new ServerError('invalid', `Cannot accept ${what}: ${shown.join('; ')}${more}`);
}

interface Issue {
  readonly path: string;
  readonly message: string;
}

/**
 * Returns the problems of an issue. For a union, it returns the problems of the member that matches the value
 * best.
 */
function flatten(issue: z.core.$ZodIssue): readonly Issue[] {
  const path = issue.path.length === 0 ? '(root)' : issue.path.map(String).join('.');
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nearest = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0] ?? [];
    return nearest.map(({ message, path: inner }) => ({
      path: [...issue.path, ...inner].map(String).join('.') || '(root)',
      message,
    }));
  }
  return [{ path: path.slice(0, 200), message: issue.message }];
}

function depthOf(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((depth, { path }) => Math.max(depth, path.length), 0);
}
