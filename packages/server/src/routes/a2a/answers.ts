import { type AskedApproval, isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import type { RouteContext } from '../../http/route.ts';
import { field } from '../mcp/protocol/rpc-message.ts';
import { submitAnswers } from '../mcp/questions.ts';
import { invalidParams } from './protocol/a2a-error.ts';
import type { SentMessage } from './protocol/messages.ts';

/** Returns a question of the agent as data. The answer names its id. */
export function questionData({ toolCallId, name, from }: AskedApproval): JsonObject {
  const question = { kind: 'question', id: toolCallId, name };
  if (from?.form !== undefined) return { ...question, schema: from.form.schema };
  return { ...question, answer: { id: toolCallId, approve: true, reason: 'optional' } };
}

/** Texts that approve a call, with or without its id. Every other text denies it, and is the reason. */
const consent = /^(?:yes|ok|okay|approve|approved|allow|allowed)[.!]?(?:\s+(?<id>\S+))?$/i;

/** A message that answers questions, and what the server knows about it. */
interface GivenAnswer {
  readonly message: SentMessage;
  /** The questions that wait for an answer. */
  readonly waiting: readonly AskedApproval[];
  /** True if the task has asked only one question up to now. */
  readonly isOnlyQuestion: boolean;
  /** The idempotency key of the message. */
  readonly key: string;
}

/**
 * Answers the open questions of a session with a message.
 *
 * - Data: `{ "id": "…", "approve": true }`, `{ "approve": false, "reason": "…" }`, or
 *   `{ "id": "…", "content": { … } }` for a form. Without an id, it answers all open questions.
 * - Text: `yes` or `approve` approves the open call, and `yes {id}` approves the call with this id. Every other
 *   text denies all open calls. A form with one text field accepts any text.
 *
 * If the task has asked several questions, a consent must name the id. The user may not have seen all of them,
 * and the consent may be late and belong to an earlier question.
 */
export async function answerQuestions(
  session: string,
  { message, waiting, isOnlyQuestion, key }: GivenAnswer,
  context: RouteContext,
): Promise<void> {
  const ids = waiting.map(({ toolCallId }) => toolCallId).join(', ');
  if (!isOnlyQuestion && consentsWithoutId(message, waiting)) {
    const why = 'Cannot approve without an id: the task has asked several questions';
    throw invalidParams(`${why}. Name the id of one, as in {"id": "…", "approve": true}: ${ids}`);
  }
  const answers = new Map<string, JsonObject>();
  for (const asked of waiting) {
    const answer = answerTo(asked, message);
    if (answer !== undefined) answers.set(asked.toolCallId, answer);
  }
  if (answers.size === 0) {
    throw invalidParams(`Cannot use the answer: no question has this id. Open: ${ids}`);
  }
  await submitAnswers(session, answers, context, { by: 'a2a', lastKey: key });
}

function consentsWithoutId(
  { data, text }: SentMessage,
  waiting: readonly AskedApproval[],
): boolean {
  if (data.length === 0) {
    const match = consent.exec(text.trim());
    if (match !== null) return match.groups?.['id'] === undefined;
    // A text is the content of a form.
    return waiting.some(({ from }) => from?.form !== undefined);
  }
  const isConsent = (one: JsonObject) => one['approve'] === true || isJsonObject(one['content']);
  return data.some((one) => idOf(one) === undefined && isConsent(one));
}

function answerTo(asked: AskedApproval, { data, text }: SentMessage): JsonObject | undefined {
  if (data.length === 0) return textAnswer(asked, text);
  const own = data.find((one) => (idOf(one) ?? asked.toolCallId) === asked.toolCallId);
  if (own === undefined) return undefined;
  const { approve, reason, content } = own;
  if (asked.from?.form !== undefined)
    return isJsonObject(content) ? { action: 'accept', content } : { action: 'decline' };
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

function textAnswer({ from, toolCallId }: AskedApproval, text: string): JsonObject | undefined {
  const said = text.trim();
  if (from?.form === undefined) {
    const match = consent.exec(said);
    const { id = toolCallId } = match?.groups ?? {};
    return id === toolCallId ? approval(match !== null, said) : undefined;
  }
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
