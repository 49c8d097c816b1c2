import type { JsonObject, JsonValue } from '@millrace/core';
import type { ExpectedCall } from './expected.ts';
import { entriesOf, fieldsOf, isObject, textOf } from './json-access.ts';
import { atPath } from './json-path.ts';
import { parseLine } from './parse-line.ts';

interface Gathered {
  readonly event: number;
  readonly name: string;
  readonly id: string;
  readonly isSigned: boolean;
  readonly given: JsonValue | undefined;
  readonly partials: JsonObject[];
}

/** The calls of a response, from its parts event by event. A name starts one; all else continues the last. */
export function geminiCalls(
  partsByEvent: readonly (readonly JsonObject[])[],
): readonly ExpectedCall[] {
  const calls: Gathered[] = [];
  for (const [event, parts] of partsByEvent.entries()) {
    for (const { functionCall, thoughtSignature } of parts) {
      const { name, id, args, partialArgs } = fieldsOf(functionCall);
      if (textOf(name) !== '') {
        const isSigned = textOf(thoughtSignature) !== '';
        const call = {
          event,
          name: textOf(name),
          id: textOf(id),
          isSigned,
          given: args,
          partials: [],
        };
        if (!calls.some((earlier) => isRepeat(call, earlier))) calls.push(call);
      }
      calls.at(-1)?.partials.push(...entriesOf(partialArgs).map(fieldsOf));
    }
  }
  return calls.map(toCall);
}

/** A signed call that comes again in a later event without its signature. */
function isRepeat(call: Gathered, earlier: Gathered): boolean {
  const isSame = call.name === earlier.name && call.id === earlier.id;
  const isEqual =
    call.given !== undefined && JSON.stringify(call.given) === JSON.stringify(earlier.given);
  return isSame && isEqual && earlier.isSigned && !call.isSigned && earlier.event < call.event;
}

function toCall({ name, id, given, partials }: Gathered): ExpectedCall {
  const value = typeof given === 'string' ? parseLine(given) : streamedValue(given, partials);
  const text = typeof given === 'string' ? given : JSON.stringify(value);
  return {
    name,
    arguments: text,
    ...(value !== undefined && { value }),
    ...(id !== '' && { id }),
    isWhole: isObject(value),
  };
}

function streamedValue(given: JsonValue | undefined, partials: readonly JsonObject[]): JsonValue {
  const pieces = Map.groupBy(partials, ({ jsonPath }) => textOf(jsonPath));
  let value: JsonValue = fieldsOf(given);
  for (const [path, values] of pieces) value = atPath(value, path, leafOf(values));
  return value;
}

/** Text of one path comes in pieces; anything else comes at once. */
function leafOf(partials: readonly JsonObject[]): JsonValue {
  if (partials.some((partial) => 'stringValue' in partial)) {
    return partials
      .map(({ stringValue }) => textOf(stringValue))
      .join('')
      .toWellFormed();
  }
  const { numberValue, boolValue } = partials.at(-1) ?? {};
  return numberValue ?? boolValue ?? null;
}
