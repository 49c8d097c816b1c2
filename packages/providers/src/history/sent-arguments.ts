import { type JsonObject, parseJson, type ToolCallPart } from '@millrace/core';
import { isObject } from '../json/fields.ts';
import { wellFormedValue } from './well-formed-value.ts';

/** The arguments of a call as text and as value: a JSON object that every provider takes. */
export interface SentArguments {
  readonly arguments: string;
  readonly input: JsonObject;
}

/**
 * As the model wrote them wherever that can be sent, since `input` is derived from it; undefined where
 * they are no JSON object at all.
 */
export function sentArguments(part: ToolCallPart): SentArguments | undefined {
  const written = writtenObject(part.arguments);
  const given = written ?? (isObject(part.input) ? part.input : undefined);
  if (given === undefined)
    return part.arguments === '' ? { arguments: '{}', input: {} } : undefined;
  const input = wellFormedValue(given);
  return { arguments: input === written ? part.arguments : JSON.stringify(input), input };
}

function writtenObject(text: string): JsonObject | undefined {
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}
