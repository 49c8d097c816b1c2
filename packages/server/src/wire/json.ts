import type { JsonObject, JsonValue } from '@millrace/core';
import { z } from 'zod';

// zod's own `json` and `record` copy what they check, and leave `__proto__` out, which is data like any
// other. What comes from outside was read by core's parseJson; what an agent gives is checked by the writer.

export const jsonObjectSchema = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    {
      error: 'it is no object',
    },
  )
  .meta({ type: 'object' });

export const jsonValueSchema = z.custom<JsonValue>((value) => value !== undefined, {
  error: 'it is missing',
});
