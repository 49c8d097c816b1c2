import { z } from 'zod';

/**
 * Returns a list schema for the body of a request. It reports only the first invalid element. A body of 1 MiB
 * can have a million invalid elements, and a report about all of them would take seconds.
 */
export function checkedList<Element extends z.ZodType>(
  element: Element,
  maxLength: number,
  minLength = 0,
) {
  return z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length > maxLength) return value;
    return hasFault(value.entries(), element, context) ? z.NEVER : value;
  }, z.array(element).min(minLength).max(maxLength));
}

/**
 * Returns a schema for an object whose values all have the same schema. It reports only the first invalid
 * value.
 */
export function checkedRecord<Value extends z.ZodType>(values: Value, maxSize: number) {
  return z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      const entries = Object.entries(value);
      if (entries.length > maxSize) {
        const message = `it has more than ${maxSize} entries`;
        context.addIssue({ code: 'custom', message, input: value });
        return z.NEVER;
      }
      return hasFault(entries, values, context) ? z.NEVER : value;
    },
    z.record(z.string(), values),
  );
}

/** Returns true if an element is invalid, and reports the first invalid element. */
function hasFault(
  entries: Iterable<readonly [key: string | number, value: unknown]>,
  schema: z.ZodType,
  context: z.RefinementCtx,
): boolean {
  for (const [key, value] of entries) {
    const { error } = schema.safeParse(value);
    if (error === undefined) continue;
    for (const { message, path } of error.issues)
      context.addIssue({ code: 'custom', message, path: [key, ...path], input: value });
    return true;
  }
  return false;
}
