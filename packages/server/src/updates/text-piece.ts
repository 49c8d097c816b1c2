import type { Update } from '../contract/message.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A longer one is looked at as anything else is. */
const maxLength = 2 ** 16;
const updateFields: ReadonlySet<string> = new Set(['type', 'index', 'delta']);
const deltaFields: ReadonlySet<string> = new Set(['type', 'text_delta']);

/** A piece of text, which most updates are, read at a glance; undefined for all else, right or wrong. */
export function textPiece(given: unknown): Update | undefined {
  if (!hasOnly(given, updateFields) || given['type'] !== 'delta') return undefined;
  const { index = null, delta } = given;
  if (!hasOnly(delta, deltaFields) || delta['type'] !== 'text') return undefined;
  const { text_delta } = delta;
  if (typeof text_delta !== 'string' || text_delta.length > maxLength) return undefined;
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
