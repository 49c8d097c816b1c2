import { nearestNames } from '@millrace/core';
import { z } from 'zod';

/**
 * Returns an object schema that refuses unknown fields. A misspelled field that restricts a request, such
 * as `agent_nam`, must not be ignored silently. The error names the nearest known field.
 */
export function closedObject<const Shape extends Readonly<Record<string, z.core.SomeType>>>(
  shape: Shape,
) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? unknownFields(issue.keys, shape) : undefined,
  });
}

const maxShown = 3;

function unknownFields(keys: readonly string[], shape: object): string {
  const known = Object.keys(shape);
  const shown = keys.slice(0, maxShown).map((key) => {
    // A key that does not look like a field name may be private content. Errors must never contain content.
    if (!/^\w{1,40}$/.test(key)) return 'another field';
    const [near] = nearestNames(key, known);
    return near === undefined ? key : `${key} (did you mean ${near}?)`;
  });
  return `unknown fields: ${shown.join(', ')}. Known fields: ${known.join(', ')}`;
}
