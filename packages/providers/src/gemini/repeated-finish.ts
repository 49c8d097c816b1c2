import type { JsonObject } from '@millrace/core';
import { countIn, objectIn, objectsIn } from '../json/fields.ts';

/** A response with a finish reason, and the candidate in it. */
export interface Finish {
  readonly response: JsonObject;
  readonly candidate: JsonObject;
}

/**
 * Is it the last event again, and not one that is equal to it? How much was written by then tells, where
 * both say it. Else equal text is more text, and equal calls are the same.
 */
export function isRepeatedFinish(earlier: Finish, later: Finish): boolean {
  if (JSON.stringify(earlier.candidate) !== JSON.stringify(later.candidate)) return false;
  const parts = objectsIn(objectIn(later.candidate, 'content'), 'parts');
  const [before, now] = [writtenBy(earlier.response), writtenBy(later.response)];
  if (before !== undefined && now !== undefined) return before === now;
  return parts.every((part) => objectIn(part, 'functionCall') !== undefined || isEmpty(part));
}

function writtenBy(response: JsonObject): number | undefined {
  return countIn(objectIn(response, 'usageMetadata'), 'candidatesTokenCount');
}

function isEmpty({ text = '', inlineData }: JsonObject): boolean {
  return text === '' && inlineData === undefined;
}
