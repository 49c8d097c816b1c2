import { isId } from '@millrace/core';
import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  toolCallId: z.string().optional(),
  state: z.string().optional(),
  approval: z
    .looseObject({ approved: z.boolean().optional(), reason: z.string().max(4096).optional() })
    .optional(),
});

/** What a name can be kept as: printable, and not too long. */
const name = z.string().min(1).max(200).refine(isId, 'it has characters that cannot be printed');

const message = z.looseObject({
  id: name.optional(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(part).max(10_000),
});

export const chatMessageSchema = z.object({
  id: z.string(),
  role: z.enum(['user', 'assistant']),
  parts: z.array(z.looseObject({ type: z.string() })),
});

export const chatParams = z.object({ agent_name: name });
export const chatIdParams = z.object({ agent_name: name, chat_id: name });

/**
 * What the AI SDK's chat transport sends. The task has all that was said, so that only the last message
 * counts, and is all that has to be sent.
 */
export const chatBodySchema = z.looseObject({
  /** The chat, which is the name of its task. */
  id: name,
  messages: z.array(message).min(1).max(10_000),
  trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
  messageId: z.string().max(1024).nullish(),
});

type ChatBody = z.output<typeof chatBodySchema>;

/** What is new in a chat. */
export type ChatInput =
  /** Something that a person said; or is to be answered once more. */
  | {
      readonly kind: 'message';
      readonly id: string | undefined;
      readonly text: string;
      readonly isAgain: boolean;
    }
  /** What a person said about calls that wait, and the message that these are in. */
  | {
      readonly kind: 'rulings';
      readonly messageId: string | undefined;
      readonly rulings: readonly ApprovalAnswer[];
    };

export interface ApprovalAnswer {
  readonly callId: string;
  readonly isApproved: boolean;
  readonly reason: string | undefined;
}

export function readChatInput({ messages, trigger }: ChatBody): ChatInput {
  const last = messages.at(-1);
  const isAgain = trigger === 'regenerate-message';
  if (last?.role === 'user') {
    return { kind: 'message', id: last.id, text: textIn(last.parts), isAgain };
  }
  const rulings = isAgain || last?.role !== 'assistant' ? [] : approvalAnswersIn(last.parts);
  if (rulings.length > 0) return { kind: 'rulings', messageId: last?.id, rulings };
  const message =
    'Cannot find anything new in this chat: its last message is neither of a person, nor does it answer an approval. Send one of these last';
  throw new ServerError('invalid', message);
}

type Parts = ChatBody['messages'][number]['parts'];

function textIn(parts: Parts): string {
  const texts = parts.flatMap(({ type, text }) =>
    type === 'text' && text !== undefined ? [text] : [],
  );
  if (texts.length === parts.length && texts.some((text) => text !== '')) return texts.join('\n');
  const message = 'Cannot take this message: it is empty, or has files. Send parts of type text';
  throw new ServerError('invalid', message);
}

function approvalAnswersIn(parts: Parts): readonly ApprovalAnswer[] {
  return parts.flatMap(({ toolCallId, state, approval }) =>
    state === 'approval-responded' && toolCallId !== undefined && approval?.approved !== undefined
      ? [{ callId: toolCallId, isApproved: approval.approved, reason: approval.reason }]
      : [],
  );
}
