import type { JsonObject } from '@millrace/core';

interface Attachment {
  readonly file_id: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

/** What somebody says to an agent. */
export type MessageContent =
  | {
      readonly type: 'text';
      readonly content: string;
      readonly format?: 'plain' | 'markdown' | 'code';
      readonly attachments?: readonly Attachment[];
    }
  | { readonly type: 'data'; readonly data: JsonObject };

/** As a server takes it. */
export function userContent(input: string | MessageContent): JsonObject {
  const content = typeof input === 'string' ? { type: 'text', content: input } : input;
  return { ...(content as JsonObject), author: 'user' };
}
