import type { JsonObject, JsonValue } from '@millrace/core';
import { z } from 'zod';
import { checkedList } from './checked-list.ts';
import { closedObject } from './closed-object.ts';

// This file does not use zod's `json` and `record`. They copy the value and remove the key `__proto__`, which
// is valid data here. `parseJson` of core has already parsed input from the network, and the update writer
// checks the values of agents.

export const jsonObjectSchema = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    {
      error: 'it is not an object',
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

/** The schema of a reference to an uploaded file in a message. */
export const attachmentSchema = z.object({
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
  attachments: z.array(attachmentSchema).nullable().default(null),
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

/** The schema of a message's content. Input may omit fields that have a default. */
export const contentSchema = z.discriminatedUnion('type', [
  textContent,
  dataContent,
  toolRequestContent,
  toolResponseContent,
  reasoningContent,
]);

const maxAttachments = 1000;
/** Maximum number of reasoning parts in a message. */
const maxPieces = 10_000;

/**
 * The schema of a message's content in a request body. It refuses unknown fields. The schema for updates of
 * agents ignores unknown fields, because newer agents may send more fields.
 */
export const contentBodySchema = z.discriminatedUnion('type', [
  closedObject({
    ...textContent.shape,
    attachments: checkedList(closedObject(attachmentSchema.shape), maxAttachments)
      .nullable()
      .default(null),
  }),
  closedObject(dataContent.shape),
  closedObject(toolRequestContent.shape),
  closedObject(toolResponseContent.shape),
  closedObject({
    ...reasoningContent.shape,
    summary: checkedList(z.string(), maxPieces),
    content: checkedList(z.string(), maxPieces).nullable().default(null),
  }),
]);

/** The content of a stored message: text, data, tool request, tool response or reasoning. */
export type Content = z.output<typeof contentSchema>;
/** The content of a message as a caller writes it. Fields with a default may be omitted. */
export type ContentInput = z.input<typeof contentSchema>;
/** The content of one type, such as `ContentOf<'text'>`. */
export type ContentOf<Type extends Content['type']> = Extract<Content, { type: Type }>;
