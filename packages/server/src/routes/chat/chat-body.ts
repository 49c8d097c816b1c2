import { type FilePart, fromBase64, isId, type JsonValue, type MediaPart } from '@millrace/core';
import { z } from 'zod';
import { checkedList } from '../../contract/checked-list.ts';
import { closedObject } from '../../contract/closed-object.ts';
import { jsonValueSchema } from '../../contract/content.ts';
import { ServerError } from '../../contract/server-error.ts';

/**
 * A part of a message. It can have more fields, which depend on the version of the AI SDK. The server ignores
 * these fields.
 */
const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  mediaType: z.string().max(255).optional(),
  filename: z.string().max(1024).optional(),
  toolCallId: z.string().optional(),
  state: z.string().optional(),
  output: jsonValueSchema.optional(),
  errorText: z.string().max(65_536).optional(),
  approval: z
    .looseObject({ approved: z.boolean().optional(), reason: z.string().max(4096).optional() })
    .optional(),
});

/** The schema of a name: printable characters, at most 200. */
const name = z
  .string()
  .min(1)
  .max(200)
  .refine(isId, 'it contains characters that are not printable');

const message = closedObject({
  id: name.optional(),
  role: z.enum(['system', 'user', 'assistant']),
  /** Data of the web page about the message. The task keeps it, and the model does not see it. */
  metadata: jsonValueSchema.optional(),
  parts: checkedList(part, 10_000),
});

export const chatMessageSchema = z.object({
  id: z.string(),
  role: z.enum(['user', 'assistant']),
  metadata: jsonValueSchema.optional(),
  parts: z.array(z.looseObject({ type: z.string() })),
});

export const chatParams = z.object({ agent_name: name });
export const chatIdParams = z.object({ agent_name: name, chat_id: name });

/**
 * The request body that the AI SDK's chat transport sends. The server reads only the last message, because
 * the task already contains the earlier messages.
 */
export const chatBodySchema = closedObject({
  /** The chat id. It becomes the name of the task. */
  id: name,
  messages: checkedList(message, 10_000, 1),
  trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
  messageId: z.string().max(1024).nullish(),
});

type ChatBody = z.output<typeof chatBodySchema>;

/** The new input in a chat request. */
export type ChatInput =
  /** A message of the user: either a new message, or an old message that needs a new answer. */
  | {
      readonly kind: 'message';
      readonly id: string | undefined;
      readonly text: string;
      /** The files of the message, in their order. */
      readonly files: readonly (MediaPart | FilePart)[];
      /** Data of the web page about the message. Only agent loops keep it. */
      readonly metadata: JsonValue | undefined;
      readonly isRegenerate: boolean;
    }
  /**
   * Answers to pending approvals and outputs of tools that the client executed. `messageId` identifies the
   * message that contains these calls.
   */
  | {
      readonly kind: 'answers';
      readonly messageId: string | undefined;
      readonly answers: readonly ApprovalAnswer[];
      /** The outputs of all calls in the message. Most of them come from the server itself. */
      readonly outputs: readonly ClientOutput[];
    };

/** The user's answer to a pending approval. */
export interface ApprovalAnswer {
  readonly callId: string;
  readonly isApproved: boolean;
  readonly reason: string | undefined;
}

/** The output of a tool in the client's message. */
interface ClientOutput {
  readonly callId: string;
  readonly output?: JsonValue | undefined;
  readonly error?: string | undefined;
}

/** Reads the new input from the last message of a request. */
export function readChatInput({ messages, trigger }: ChatBody): ChatInput {
  const last = messages.at(-1);
  const isRegenerate = trigger === 'regenerate-message';
  if (last?.role === 'user') {
    const { id, metadata } = last;
    if (JSON.stringify(metadata ?? null).length > maxMetadataLength)
      throw unusable(`metadata of more than ${maxMetadataLength} characters`);
    return { kind: 'message', id, metadata, ...contentIn(last.parts), isRegenerate };
  }
  const parts = isRegenerate || last?.role !== 'assistant' ? [] : last.parts;
  const answers = approvalAnswersIn(parts);
  const outputs = outputsIn(parts);
  if (answers.length === 0 && outputs.length === 0) throw noInput();
  return { kind: 'answers', messageId: last?.id, answers, outputs };
}

/** Returns the error for a request that contains no new input. */
export function noInput(): ServerError {
  const message =
    'Cannot find new input in this chat: its last message is not from the user, answers no approval and has no output of a tool that waits for the client. Send one of these as the last message';
  return new ServerError('invalid', message);
}

type Parts = ChatBody['messages'][number]['parts'];

/**
 * Returns the text and the files of a message. It refuses all other parts, because no agent would read them.
 */
function contentIn(parts: Parts) {
  const texts: string[] = [];
  const files: (MediaPart | FilePart)[] = [];
  for (const one of parts) {
    if (one.type === 'text' && one.text !== undefined) texts.push(one.text);
    else if (one.type === 'file') files.push(fileIn(one));
    else throw unusable(`a part of the type ${JSON.stringify(one.type).slice(0, 64)}`);
  }
  if (files.length > maxFiles) throw unusable(`more than ${maxFiles} files`);
  const text = texts.join('\n');
  if (files.length === 0 && texts.every((one) => one === '')) throw unusable('no text');
  return { text, files };
}

/** Maximum length of the metadata of a message, as JSON. It is read with every list of messages. */
const maxMetadataLength = 16_384;

/** Maximum number of files per message. */
const maxFiles = 100;

/** Converts a file of the AI SDK. It accepts only data URLs, because the server does not download files. */
function fileIn({ url = '', mediaType = '', filename = 'file' }: Parts[number]) {
  const [, inUrl, data = ''] = /^data:([^;,]*)(?:;[^;,]*)*;base64,(.*)$/s.exec(url) ?? [];
  const bytes = inUrl === undefined ? undefined : fromBase64(data);
  const mimeType = mediaType || inUrl || '';
  const isType = /^[\w.+-]+\/[\w.+-]+$/.test(mimeType);
  if (bytes === undefined || !isType)
    throw unusable('a file without a media type, or whose URL is not a base64 data URL');
  const source = { type: 'bytes', bytes } as const;
  if (/^(?:image|audio|video)\//.test(mimeType))
    return { kind: 'media', mimeType, source } as const;
  return { kind: 'file', name: filename || 'file', mimeType, source } as const;
}

function unusable(what: string): ServerError {
  const message = `Cannot accept this message: it has ${what}. Send parts of the types text and file`;
  return new ServerError('invalid', message);
}

function outputsIn(parts: Parts): readonly ClientOutput[] {
  return parts.flatMap(({ toolCallId: callId, state, output, errorText }): ClientOutput[] => {
    if (callId === undefined) return [];
    if (state === 'output-error') return [{ callId, error: errorText ?? 'It failed' }];
    return state === 'output-available' ? [{ callId, output: output ?? null }] : [];
  });
}

function approvalAnswersIn(parts: Parts): readonly ApprovalAnswer[] {
  return parts.flatMap(({ toolCallId, state, approval }) =>
    state === 'approval-responded' && toolCallId !== undefined && approval?.approved !== undefined
      ? [{ callId: toolCallId, isApproved: approval.approved, reason: approval.reason }]
      : [],
  );
}
