import { checkJson, defaultContentLimits, type ErrorPlace, MillraceError } from '@millrace/core';
import type { z } from 'zod';
import { type Update, updateSchema } from '../contract/message.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Parses an update of an agent. Some SDKs omit `type`. It is then derived from the other fields. */
export function readUpdate(input: unknown): Update {
  return readTextDelta(input) ?? parseUpdate(input);
}

function parseUpdate(input: unknown): Update {
  // The depth is checked before the schema, because the schema calls itself recursively for each level.
  const problem = checkJson(dropUndefined(input), defaultContentLimits);
  if (problem !== undefined) throw badUpdate(problem.path);
  const read = updateSchema.safeParse(withType(input));
  if (!read.success) throw badUpdate(pathOf(read.error));
  return withRawValues(read.data, input);
}

function badUpdate(path: string): UpdateError {
  return new UpdateError('bad_update', 'accept an update', { path });
}

function pathOf({ issues }: z.ZodError): string {
  return ['$', ...(issues[0]?.path ?? [])].join('.');
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** Removes fields whose value is `undefined`, because they count as missing. */
function dropUndefined(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const fields = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    fields.map(([key, value]) => [
      key,
      ['content', 'delta', 'parent_task_message'].includes(key) ? dropUndefined(value) : value,
    ]),
  );
}

/** Adds a missing type. It also removes `parent_task_message`, because only the server sets this field. */
function withType(input: unknown): unknown {
  const fields = fieldsOf(input);
  const { delta } = fields;
  const type = fields['type'] ?? (delta === undefined ? undefined : 'delta');
  const cleaned = { ...fields, type, parent_task_message: null };
  return delta === undefined || delta === null
    ? cleaned
    : { ...cleaned, delta: withDeltaType(delta) };
}

const deltaTypes = {
  text_delta: 'text',
  data_delta: 'data',
  arguments_delta: 'tool_request',
  summary_delta: 'reasoning_summary',
} as const;

function withDeltaType(input: unknown): unknown {
  const fields = fieldsOf(input);
  if (fields['type'] !== undefined && fields['type'] !== null) return input;
  const named = Object.entries(deltaTypes).find(([name]) => name in fields)?.[1];
  const isResult = 'content_delta' in fields && 'tool_call_id' in fields;
  const isReasoning = 'content_delta' in fields || 'content_index' in fields;
  const type = named ?? (isResult ? 'tool_response' : isReasoning ? 'reasoning_content' : null);
  return { ...fields, type };
}

/**
 * Restores the original values in the update, because the schema copies objects and removes the key
 * `__proto__`.
 */
function withRawValues(update: Update, input: unknown): Update {
  if (!('content' in update)) return update;
  const raw = fieldsOf(fieldsOf(input)['content']);
  const { content } = update;
  switch (content.type) {
    case 'data':
      return { ...update, content: { ...content, data: raw['data'] as typeof content.data } };
    case 'tool_request': {
      const input = raw['arguments'] as typeof content.arguments;
      return { ...update, content: { ...content, arguments: input } };
    }
    case 'tool_response': {
      const result = raw['content'] as typeof content.content;
      return { ...update, content: { ...content, content: result } };
    }
    default:
      return update;
  }
}

/** Maximum length of a text for the fast path. Longer texts use the general parser. */
const maxTextLength = 2 ** 16;
const updateFields: ReadonlySet<string> = new Set(['type', 'index', 'delta']);
const deltaFields: ReadonlySet<string> = new Set(['type', 'text_delta']);

/**
 * A fast parser for text deltas, the most frequent updates. Returns undefined for every other input, valid or
 * not.
 */
export function readTextDelta(input: unknown): Update | undefined {
  if (!hasOnly(input, updateFields) || input['type'] !== 'delta') return undefined;
  const { index = null, delta } = input;
  if (!hasOnly(delta, deltaFields) || delta['type'] !== 'text') return undefined;
  const { text_delta } = delta;
  if (typeof text_delta !== 'string' || text_delta.length > maxTextLength) return undefined;
  if (index !== null && !isIndex(index)) return undefined;
  return { type: 'delta', index, parent_task_message: null, delta: { type: 'text', text_delta } };
}

function hasOnly(value: unknown, fields: ReadonlySet<string>): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const key in value) if (!fields.has(key)) return false;
  return true;
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

type UpdateErrorCode = 'bad_update' | 'too_many_indexes' | 'too_many_parts' | 'writer_ended';

const explanations: { readonly [Code in UpdateErrorCode]: string } = {
  bad_update:
    'it is not an update. Send start, delta, full or done with the fields of its type at this path',
  too_many_indexes: 'the answer has too many. Use fewer, or send several messages',
  too_many_parts: 'the answer has too many. Use fewer, or send several messages',
  writer_ended: 'the answer is over. Start another one',
};

/** Thrown for an update that the server refuses. The update has no effect. */
export class UpdateError extends MillraceError<UpdateErrorCode> {
  constructor(code: UpdateErrorCode, what: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    const where = Object.entries(place).map(([key, value]) => `${key} ${value}`);
    super(code, `Cannot ${what} (${where.join(', ')}): ${explanations[code]}`, place, options);
  }
}
