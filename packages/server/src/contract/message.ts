import { z } from 'zod';
import { contentSchema } from './content.ts';

export const streamingStatusSchema = z.enum(['IN_PROGRESS', 'DONE']);

export const taskMessageSchema = z.object({
  id: z.string().nullable().default(null),
  task_id: z.string(),
  content: contentSchema,
  streaming_status: streamingStatusSchema.nullable().default(null),
  created_at: z.string().nullable().default(null),
  updated_at: z.string().nullable().default(null),
});

/** A message of a task as clients receive it. */
export type TaskMessage = z.output<typeof taskMessageSchema>;

/** The schema of a text fragment. A missing fragment and null both count as an empty text. */
const piece = z
  .string()
  .nullish()
  .transform((text) => text ?? '')
  .meta({ type: 'string' });
const call = { tool_call_id: z.string(), name: z.string() };

/** The schema of the new part of a message. `data_delta` and `arguments_delta` are fragments of JSON text. */
const updateDeltaSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text_delta: piece }),
  z.object({ type: z.literal('data'), data_delta: piece }),
  z.object({ type: z.literal('tool_request'), ...call, arguments_delta: piece }),
  z.object({ type: z.literal('tool_response'), ...call, content_delta: piece }),
  z.object({
    type: z.literal('reasoning_summary'),
    summary_index: z.int().nonnegative(),
    summary_delta: piece,
  }),
  z.object({
    type: z.literal('reasoning_content'),
    content_index: z.int().nonnegative(),
    content_delta: piece,
  }),
]);

const head = {
  index: z.int().nonnegative().nullable().default(null),
  parent_task_message: taskMessageSchema.nullable().default(null),
};

/** The schema of one change to a message while it streams. */
export const updateSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), ...head, content: contentSchema }),
  z.object({ type: z.literal('delta'), ...head, delta: updateDeltaSchema.nullable() }),
  z.object({
    type: z.literal('full'),
    ...head,
    content: contentSchema,
    /**
     * True if the message was removed. Its content is then an empty text, for clients that ignore this field.
     */
    retracted: z.literal(true).optional(),
  }),
  z.object({ type: z.literal('done'), ...head }),
]);

/** One change to a message while it streams: `start`, `delta`, `full` or `done`. */
export type Update = z.output<typeof updateSchema>;
/** An update as an agent sends it. Fields with a default may be omitted. */
export type UpdateInput = z.input<typeof updateSchema>;
/** The new part of a streaming message. */
export type UpdateDelta = z.output<typeof updateDeltaSchema>;
