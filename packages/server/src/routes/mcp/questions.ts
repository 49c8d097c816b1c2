import {
  type AskedApproval,
  type FoldState,
  formDismissed,
  isId,
  type JsonObject,
  toArray,
} from '@millrace/core';
import type { Command } from '../../contract/request-bodies.ts';
import type { RouteContext } from '../../http/route.ts';
import { readChatNear } from '../chat/chat-state.ts';
import { field, isObject, type McpId } from './protocol/rpc-message.ts';

/** Maximum length of the input of a call in a question. */
const maxInputLength = 4000;
const maxReasonLength = 4000;

/** Returns a question of the agent as a request for the user of the client. */
export function elicitation(asked: AskedApproval, state: FoldState): JsonObject {
  const { from } = asked;
  if (from?.form !== undefined)
    return { message: from.form.message, requestedSchema: from.form.schema };
  return {
    message: describeQuestion(asked, state),
    requestedSchema: {
      type: 'object',
      properties: {
        approve: { type: 'boolean', title: 'Allow this call' },
        reason: { type: 'string', title: 'Reason, if you do not allow it', maxLength: 2000 },
      },
      required: ['approve'],
    },
  };
}

/** Describes a question of the agent in words. */
export function describeQuestion(asked: AskedApproval, state: FoldState): string {
  const { name, reason, from } = asked;
  if (from?.form !== undefined) return from.form.message;
  const what = `The agent wants to call the tool ${name}${reason === undefined ? '' : ` (${reason})`}`;
  const input = from === undefined ? inputOf(asked, state) : JSON.stringify(from.input);
  return input === undefined ? what : `${what}: ${clip(input)}`;
}

function inputOf({ toolCallId }: AskedApproval, { items }: FoldState): string | undefined {
  for (const { parts } of toArray(items).toReversed())
    for (const { part } of parts)
      if (part?.kind === 'tool_call' && part.toolCallId === toolCallId) return part.arguments;
  return undefined;
}

function clip(text: string): string {
  return text.length > maxInputLength ? `${text.slice(0, maxInputLength)}…` : text;
}

/** Returns the command for an answer of the user. Everything that is no clear consent denies the call. */
function answerCommand(
  { toolCallId, from }: AskedApproval,
  answer: JsonObject | undefined,
  by: string,
): Command {
  const call = { tool_call_id: toolCallId, by };
  const [action, content] = [field(answer, 'action'), field(answer, 'content')];
  const deny = (reason: string): Command => ({
    ...{ type: 'deny', ...call },
    reason: reason.slice(0, maxReasonLength),
  });
  if (from?.form !== undefined) {
    if (action === 'accept' && isObject(content))
      return { type: 'approve', ...call, input: content };
    return deny(action === 'decline' ? 'The user declined to answer' : formDismissed);
  }
  if (action === 'accept' && field(content, 'approve') === true)
    return { type: 'approve', ...call };
  const reason = field(content, 'reason');
  if (typeof reason === 'string' && reason !== '') return deny(reason);
  return deny(action === 'cancel' ? 'The user dismissed the question' : 'The user declined');
}

/**
 * Answers questions of a session. Answers to other questions are ignored, as the protocol says. `by` names the
 * protocol of the client.
 */
export async function submitAnswers(
  taskId: string,
  answers: ReadonlyMap<string, JsonObject | undefined>,
  { service, log, trace }: Pick<RouteContext, 'service' | 'log' | 'trace'>,
  by = 'mcp',
): Promise<void> {
  const { fold } = await readChatNear(log, taskId);
  for (const asked of fold.asked) {
    const { toolCallId } = asked;
    if (!answers.has(toolCallId)) continue;
    const command = answerCommand(asked, answers.get(toolCallId), by);
    // A repeated answer has no further effect.
    const key = `${by}-answer:${asked.turn}:${toolCallId}`.slice(0, 256);
    await service.tasks.submit(taskId, command, { key, trace });
  }
}

/** Reads the field `inputResponses` of a request. */
export function readAnswers(params: JsonObject): ReadonlyMap<string, JsonObject | undefined> {
  const given = field(params, 'inputResponses');
  const entries = isObject(given) ? Object.entries(given) : [];
  return new Map(entries.map(([key, value]) => [key, isObject(value) ? value : undefined]));
}

/**
 * Returns the id of a request of the server. It names the session and the question, so every server of a
 * cluster can receive the answer.
 */
export function questionId(taskId: string, { toolCallId }: AskedApproval): string {
  return `q.${Buffer.from(JSON.stringify([taskId, toolCallId])).toString('base64url')}`;
}

/** Reads the id of a request of the server. Returns undefined if the text is no such id. */
export function parseQuestionId(
  id: McpId,
): { readonly taskId: string; readonly callId: string } | undefined {
  const [, encoded = ''] = /^q\.([\w-]+)$/.exec(String(id)) ?? [];
  try {
    const [taskId, callId] = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    return isId(taskId) && typeof callId === 'string' ? { taskId, callId } : undefined;
  } catch {
    return undefined;
  }
}
