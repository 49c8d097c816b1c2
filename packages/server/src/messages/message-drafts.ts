import {
  type DraftRecord,
  defaultContentLimits,
  type Ids,
  isMillraceError,
  type JsonObject,
} from '@millrace/core';
import type { Content } from '../contract/content.ts';
import type { UpdateInput } from '../contract/message.ts';
import { ServerError } from '../contract/server-error.ts';
import { UpdateWriter } from '../updates/update-writer.ts';

interface MessageDraftOptions {
  /** True if the message stays open and is finished later. Default: false. */
  readonly isOpen?: boolean | undefined;
  /** Metadata of the item, for example the id and the time for clients. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

/** Returns the records of a message outside of turns. A user or a program sent the message. */
export function messageDrafts(
  content: Content,
  ids: Pick<Ids, 'item' | 'part' | 'toolCall'>,
  { isOpen = false, metadata }: MessageDraftOptions = {},
): readonly DraftRecord[] {
  const writer = new UpdateWriter({ turn: 0, attempt: 0, ids });
  const updates = isOpen ? openingUpdates(content) : [{ type: 'full', content } as const];
  const drafts = convertContent(() =>
    updates.flatMap((update) => writer.write({ ...update, index: 0 })),
  );
  return metadata === undefined ? drafts : drafts.map((draft) => withMetadata(draft, metadata));
}

/** Adds metadata to a draft that starts an item. Other drafts are returned unchanged. */
export function withMetadata(draft: DraftRecord, metadata: JsonObject): DraftRecord {
  const { fact, turn, attempt } = draft;
  if (fact?.type !== 'item_started') return draft;
  return { turn, attempt, fact: { ...fact, metadata: { ...fact.metadata, ...metadata } } };
}

/**
 * Calls `make`, which converts a client's content to records. If the content is not valid for the log, it
 * throws a `ServerError` for the client.
 */
export function convertContent<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw contentError(error);
  }
}

function contentError(error: unknown): unknown {
  if (!isMillraceError(error) || error instanceof ServerError) return error;
  const code = error.code === 'too_large' ? 'too_large' : 'invalid';
  const { maxParts } = defaultContentLimits;
  const rule = `texts must not contain lone surrogates, ids need 1 to 1024 printable characters, both have size limits, and a message has at most ${maxParts} parts`;
  const message = `Cannot accept this content (${error.code}): ${rule}`;
  return new ServerError(code, message, {}, { cause: error });
}

/** Returns the updates that open a message with the given content. */
function openingUpdates(content: Content): readonly UpdateInput[] {
  switch (content.type) {
    case 'text': {
      const start = { ...content, content: '' };
      return [{ type: 'start', content: start }, ...textDelta(content.content)];
    }
    case 'data': {
      const text = Object.keys(content.data).length === 0 ? '' : JSON.stringify(content.data);
      const delta = { type: 'data', data_delta: text } as const;
      return [{ type: 'start', content: { ...content, data: {} } }, ...unlessEmpty(text, delta)];
    }
    case 'tool_request': {
      const { tool_call_id, name, arguments: input } = content;
      const text = Object.keys(input).length === 0 ? '' : JSON.stringify(input);
      const delta = { type: 'tool_request', tool_call_id, name, arguments_delta: text } as const;
      const start = { ...content, arguments: {} };
      return [{ type: 'start', content: start }, ...unlessEmpty(text, delta)];
    }
    case 'tool_response': {
      const { tool_call_id, name, content: result } = content;
      const text = typeof result === 'string' ? result : JSON.stringify(result);
      const delta = { type: 'tool_response', tool_call_id, name, content_delta: text } as const;
      const start = { ...content, content: '' };
      return [{ type: 'start', content: start }, ...unlessEmpty(text, delta)];
    }
    case 'reasoning': {
      const start = { ...content, summary: [], content: null };
      const summaries = content.summary.map((summary_delta, summary_index) => ({
        ...({ type: 'delta', index: null } as const),
        delta: { type: 'reasoning_summary', summary_index, summary_delta } as const,
      }));
      const contents = (content.content ?? []).map((content_delta, content_index) => ({
        ...({ type: 'delta', index: null } as const),
        delta: { type: 'reasoning_content', content_index, content_delta } as const,
      }));
      return [{ type: 'start', content: start }, ...summaries, ...contents];
    }
  }
}

function textDelta(text_delta: string): readonly UpdateInput[] {
  return unlessEmpty(text_delta, { type: 'text', text_delta });
}

type DeltaInput = NonNullable<Extract<UpdateInput, { type: 'delta' }>['delta']>;

function unlessEmpty(text: string, delta: DeltaInput): readonly UpdateInput[] {
  return text === '' ? [] : [{ type: 'delta', delta }];
}
