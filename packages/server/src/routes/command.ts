import { z } from 'zod';
import { contentSchema } from '../wire/content.ts';
import { jsonValueSchema } from '../wire/json.ts';

const call = { tool_call_id: z.string().min(1).max(1024), by: z.string().max(1024).nullish() };
const reason = z.string().max(4096).nullish();

/** What somebody wants of an agent loop that is at work, or is to be. */
export const commandSchema = z.discriminatedUnion('type', [
  /** Starts a turn when the run would end. */
  z.object({ type: z.literal('message'), content: contentSchema }),
  /** Joins the next request. */
  z.object({ type: z.literal('steer'), content: contentSchema }),
  z.object({
    type: z.literal('approve'),
    ...call,
    /** What the call runs with instead. */
    input: jsonValueSchema.optional(),
    /** Also for what is asked by the same rule: until this time (ms since 1970), or to the end. */
    until: z.union([z.int().nonnegative(), z.literal('session')]).nullish(),
  }),
  z.object({ type: z.literal('deny'), ...call, reason }),
  z.object({ type: z.literal('abort'), reason }),
  z.object({ type: z.literal('compact') }),
  /** A message that still waits, by the key that it was sent with or has on the log, is not heard. */
  z.object({ type: z.literal('withdraw'), key: z.string().min(1).max(1024) }),
  /** What was allowed by this rule for longer than one call is asked about again. */
  z.object({ type: z.literal('revoke'), rule: z.string().min(1).max(4096) }),
]);

export type Command = z.output<typeof commandSchema>;
