import { type JsonObject, parseJson } from '@millrace/core';
import { isObject, textIn } from '../json/fields.ts';

/**
 * An item of a response that was cut short. What was under way is not complete, and neither is the
 * last call, unless it says that it is and its arguments are: some servers call each one complete.
 */
export function cutShort(item: JsonObject, isLast: boolean): JsonObject {
  const isCut = item['status'] === 'in_progress' || (isLast && isCall(item) && !isWhole(item));
  return isCut ? { ...item, status: 'incomplete' } : item;
}

function isCall({ type }: JsonObject): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function isWhole(item: JsonObject): boolean {
  if (item['status'] !== 'completed') return false;
  if (item['type'] === 'custom_tool_call') return true;
  if (isObject(item['arguments'])) return true;
  const parsed = parseJson(textIn(item, 'arguments') ?? '');
  return parsed.ok && isObject(parsed.value);
}
