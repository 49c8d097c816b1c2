import type { AskedApproval, JsonObject, JsonValue } from '@millrace/core';
import type { RouteContext } from '../../http/route.ts';
import { field, isObject } from '../mcp/protocol/rpc-message.ts';
import { submitAnswers } from '../mcp/questions.ts';
import { invalidParams } from './protocol/a2a-error.ts';
import type { SentMessage } from './protocol/messages.ts';

/** Returns a question of the agent as data. The answer names its id. */
export function questionData({ toolCallId, name, from }: AskedApproval): JsonObject {
  const question = { kind: 'question', id: toolCallId, name };
  if (from?.form !== undefined) return { ...question, schema: from.form.schema };
  return { ...question, answer: { approve: true, reason: 'optional' } };
}

/** Texts that approve a call. Every other text denies it, and is the reason. */
const consent = /^(?:yes|ok|okay|approve|approved|allow|allowed)[.!]?$/i;

/**
 * Answers the open questions of a session with a message.
 *
 * - Data: `{ "id": "…", "approve": true }`, `{ "approve": false, "reason": "…" }`, or
 *   `{ "id": "…", "content": { … } }` for a form. Without an id, it answers all open questions.
 * - Text: `yes` or `approve` approves the open call. Every other text denies all open calls. A form with one
 *   text field accepts any text.
 *
 * If several questions are open, a consent must name the id, because the user may not have seen all of them.
 */
export async function answerQuestions(
  session: string,
  waiting: readonly AskedApproval[],
  message: SentMessage,
  context: RouteContext,
): Promise<void> {
  const ids = waiting.map(({ toolCallId }) => toolCallId).join(', ');
  if (waiting.length > 1 && consentsWithoutId(message))
    throw invalidParams(`Cannot approve several calls at once. Name the id of one: ${ids}`);
  const answers = new Map<string, JsonObject>();
  for (const asked of waiting) {
    const answer = answerTo(asked, message);
    if (answer !== undefined) answers.set(asked.toolCallId, answer);
  }
  if (answers.size === 0) {
    throw invalidParams(`Cannot use the answer: no question has this id. Open: ${ids}`);
  }
  await submitAnswers(session, answers, context, 'a2a');
}

function consentsWithoutId({ data, text }: SentMessage): boolean {
  if (data.length === 0) return consent.test(text.trim());
  return data.some((one) => idOf(one) === undefined && field(one, 'approve') === true);
}

function answerTo(asked: AskedApproval, { data, text }: SentMessage): JsonObject | undefined {
  if (data.length === 0) return textAnswer(asked, text);
  const own = data.find((one) => (idOf(one) ?? asked.toolCallId) === asked.toolCallId);
  if (own === undefined) return undefined;
  const { approve, reason, content } = own;
  if (asked.from?.form !== undefined)
    return isObject(content) ? { action: 'accept', content } : { action: 'decline' };
  return approval(approve === true, reason);
}

function idOf(data: JsonObject): string | undefined {
  const id = field(data, 'id');
  return id === undefined ? undefined : String(id);
}

function approval(approve: boolean, reason: JsonValue | undefined): JsonObject {
  const why = typeof reason === 'string' && reason !== '' ? { reason } : {};
  return { action: 'accept', content: { approve, ...why } };
}

function textAnswer({ from }: AskedApproval, text: string): JsonObject {
  const said = text.trim();
  if (from?.form === undefined) return approval(consent.test(said), said);
  const fields = Object.entries(
    (field(from.form.schema as JsonObject, 'properties') ?? {}) as JsonObject,
  );
  const [only, ...more] = fields;
  if (only === undefined || more.length > 0 || field(only[1], 'type') !== 'string')
    throw invalidParams(
      'Cannot use a text as the answer to this form. Send a data part with the field content',
    );
  return { action: 'accept', content: { [only[0]]: said } };
}
