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

const head = {
  author: z.enum(['user', 'agent']),
  style: z.enum(['static', 'active']).default('static'),
};

const attachment = z.object({
  file_id: z.string(),
  name: z.string(),
  type: z.string(),
  size: z.int().nonnegative(),
});

const textContent = z.object({
  type: z.literal('text'),
  ...head,
  content: z.string(),
  format: z.enum(['plain', 'markdown', 'code']).default('plain'),
  attachments: z.array(attachment).nullable().default(null),
});

const dataContent = z.object({
  type: z.literal('data'),
  ...head,
  data: jsonObjectSchema,
});

const toolRequestContent = z.object({
  type: z.literal('tool_request'),
  ...head,
  tool_call_id: z.string(),
  name: z.string(),
  arguments: jsonObjectSchema,
});

const toolResponseContent = z.object({
  type: z.literal('tool_response'),
  ...head,
  tool_call_id: z.string(),
  name: z.string(),
  content: jsonValueSchema,
  is_error: z.boolean().nullable().default(null),
});

const reasoningContent = z.object({
  type: z.literal('reasoning'),
  ...head,
  summary: z.array(z.string()),
  content: z.array(z.string()).nullable().default(null),
});

/** What a message says. On the way in, what has a default may be left out. */
export const contentSchema = z.discriminatedUnion('type', [
  textContent,
  dataContent,
  toolRequestContent,
  toolResponseContent,
  reasoningContent,
]);

export type Content = z.output<typeof contentSchema>;
export type ContentInput = z.input<typeof contentSchema>;
export type ContentOf<Type extends Content['type']> = Extract<Content, { type: Type }>;
