import { z } from 'zod';
import { jsonObjectSchema } from '../wire/json.ts';
import { streamingStatusSchema } from '../wire/task-message.ts';

/** What a message has to be like to be listed: what is given of `content` has to be equal. */
export const messageFilterSchema = z.object({
  content: jsonObjectSchema.nullish(),
  streaming_status: streamingStatusSchema.nullish(),
  exclude: z.boolean().default(false),
});

export type MessageFilter = z.output<typeof messageFilterSchema>;
