import { z } from 'zod';

/** What a tool gave, as loosely as it can be read: a part of a kind that we do not know is none the worse. */
const schema = z.object({
  content: z.array(z.looseObject({ type: z.string() }).catch({ type: 'unreadable' })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

export type ContentBlock = { readonly type: string; readonly [field: string]: unknown };

export interface CallResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

export const callResult: z.ZodType<CallResult> = schema;
