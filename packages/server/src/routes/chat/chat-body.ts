import { z } from 'zod';
import { ServerError } from '../../http/server-error.ts';
import type { ContentInput } from '../../wire/content.ts';

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  toolCallId: z.string().optional(),
  state: z.string().optional(),
  approval: z
    .looseObject({ approved: z.boolean().optional(), reason: z.string().max(4096).optional() })
    .optional(),
});

const message = z.looseObject({
  id: z.string().max(1024).optional(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(part).max(10_000),
});

/** What the AI SDK's chat transport sends: the chat's id is the task's. */
export const chatBodySchema = z.looseObject({
  id: z.string().min(1).max(1024),
  messages: z.array(message).min(1).max(10_000),
  trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
});

type ChatBody = z.output<typeof chatBodySchema>;

/** What is new in a chat: the last message of the person, or what they said about calls that waited. */
export type ChatNews =
  | { readonly kind: 'message'; readonly id: string | undefined; readonly content: ContentInput }
  | { readonly kind: 'rulings'; readonly rulings: readonly Ruling[] };

export interface Ruling {
  readonly callId: string;
  readonly isApproved: boolean;
  readonly reason: string | undefined;
}

/** The task has all that was said before; only what is new is taken. */
export function newsIn({ messages, trigger }: ChatBody): ChatNews {
  const last = messages.at(-1);
  if (trigger === 'regenerate-message' || last === undefined || last.role === 'system')
    throw new ServerError('invalid', 'Cannot say an answer again here. Send a message instead');
  if (last.role === 'assistant') return { kind: 'rulings', rulings: rulingsIn(last.parts) };
  const texts = last.parts.flatMap(({ type, text }) =>
    type === 'text' && text !== undefined ? [text] : [],
  );
  if (texts.length !== last.parts.length)
    throw new ServerError('invalid', 'Cannot take files in a chat. Send parts of type text');
  const content = { type: 'text', author: 'user', content: texts.join('\n') } as const;
  return { kind: 'message', id: last.id, content };
}

function rulingsIn(parts: ChatBody['messages'][number]['parts']): readonly Ruling[] {
  const rulings = parts.flatMap(({ toolCallId, state, approval }) =>
    state === 'approval-responded' && toolCallId !== undefined && approval?.approved !== undefined
      ? [{ callId: toolCallId, isApproved: approval.approved, reason: approval.reason }]
      : [],
  );
  if (rulings.length > 0) return rulings;
  const message =
    'Cannot find anything new in this chat. Its last message is to be of a person, or to have answers to approvals';
  throw new ServerError('invalid', message);
}
