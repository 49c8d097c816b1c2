import { checkJson, defaultLimits } from '@millrace/core';
import type { z } from 'zod';
import { type Update, updateSchema } from '../contract/message.ts';
import { textPiece } from './text-piece.ts';
import { UpdateError } from './update-error.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * An update as agents send it: whoever leaves out a type, as some SDKs do, is understood by what else
 * is there.
 */
export function readUpdate(given: unknown): Update {
  return textPiece(given) ?? readAny(given);
}

function readAny(given: unknown): Update {
  // Depth is asked first, because a schema goes down as far as the value does.
  const problem = checkJson(dropUndefined(given), defaultLimits);
  if (problem !== undefined) throw bad(problem.path);
  const read = updateSchema.safeParse(typed(given));
  if (!read.success) throw bad(pathOf(read.error));
  return withRaw(read.data, given);
}

function bad(path: string): UpdateError {
  return new UpdateError('bad_update', 'take an update', { path });
}

function pathOf({ issues }: z.ZodError): string {
  return ['$', ...(issues[0]?.path ?? [])].join('.');
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** In a program's object a field may be there and undefined, which is as good as absent. */
function dropUndefined(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const fields = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    fields.map(([key, value]) => [
      key,
      ['content', 'delta', 'parent_task_message'].includes(key) ? dropUndefined(value) : value,
    ]),
  );
}

/** `parent_task_message` is the server's to say, and what an agent says there is not looked at. */
function typed(given: unknown): unknown {
  const fields = fieldsOf(given);
  const { delta } = fields;
  const type = fields['type'] ?? (delta === undefined ? undefined : 'delta');
  const told = { ...fields, type, parent_task_message: null };
  return delta === undefined || delta === null ? told : { ...told, delta: typedDelta(delta) };
}

const deltaTypes = {
  text_delta: 'text',
  data_delta: 'data',
  arguments_delta: 'tool_request',
  summary_delta: 'reasoning_summary',
} as const;

function typedDelta(given: unknown): unknown {
  const fields = fieldsOf(given);
  if (fields['type'] !== undefined && fields['type'] !== null) return given;
  const named = Object.entries(deltaTypes).find(([name]) => name in fields)?.[1];
  const isResult = 'content_delta' in fields && 'tool_call_id' in fields;
  const reasons = 'content_delta' in fields || 'content_index' in fields;
  const type = named ?? (isResult ? 'tool_response' : reasons ? 'reasoning_content' : null);
  return { ...fields, type };
}

/** Values as they came: a schema makes new objects, and leaves out a key named `__proto__`. */
function withRaw(update: Update, given: unknown): Update {
  if (!('content' in update)) return update;
  const raw = fieldsOf(fieldsOf(given)['content']);
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
