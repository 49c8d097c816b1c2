import { createHash } from 'node:crypto';
import {
  type AskedApproval,
  type FoldState,
  type FormQuestion,
  formDismissed,
  formLimits,
  isId,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@millrace/core';
import type { Command } from '../../contract/request-bodies.ts';
import type { ClientAbility } from '../../contract/served-agent.ts';
import type { RouteContext } from '../../http/route.ts';
import { readChatNear } from '../chat/chat-state.ts';
import type { McpCaller } from './protocol/caller.ts';
import { field, type McpId } from './protocol/rpc-message.ts';
import {
  askerOf,
  describeQuestion,
  isFormShowable,
  shownForm,
  shownInput,
} from './question-text.ts';
import type { OfferedTool } from './tool-list.ts';

const maxReasonLength = 4000;

/**
 * Returns whether the client can answer a question. It cannot if it has no way to show the question, or if its user
 * would not see a part of the answer.
 */
export function canAnswer({ from }: AskedApproval, { abilities }: McpCaller): boolean {
  const ability = programAbility(from?.form);
  if (ability !== undefined && abilities.has(ability)) return true;
  return abilities.has('elicitation') && (from?.form === undefined || isFormShowable(from.form));
}

/** Returns what a client must be able to do to answer a form without its user. */
function programAbility(form: FormQuestion | undefined): ClientAbility | undefined {
  const type = form?.request?.type;
  if (type === undefined) return undefined;
  return type === 'model' ? 'sampling' : 'roots';
}

/** Returns a question of the agent as a request for the client. */
export function clientRequest(
  asked: AskedApproval,
  state: FoldState,
  caller: McpCaller,
): JsonObject {
  const form = asked.from?.form;
  if (form !== undefined) return formRequest(form, caller, askerOf(asked));
  return { method: 'elicitation/create', params: elicitation(asked, state) };
}

/**
 * Returns a form as a request for the client: for its model, for its folders, or for its user. `asker` names the tool
 * that asks the user. Default: the application itself asks.
 */
export function formRequest(form: FormQuestion, { abilities }: McpCaller, asker = ''): JsonObject {
  const { message, request } = form;
  const ability = programAbility(form);
  if (ability === 'roots' && abilities.has(ability)) return { method: 'roots/list', params: {} };
  if (ability === 'sampling' && abilities.has(ability))
    return {
      method: 'sampling/createMessage',
      params: {
        messages: [{ role: 'user', content: { type: 'text', text: message } }],
        maxTokens: request?.maxTokens ?? 1000,
        ...(request?.system !== undefined && { systemPrompt: request.system }),
      },
    };
  const shown = shownForm(form);
  const params = { message: asker + shown.message, requestedSchema: shown.schema };
  return { method: 'elicitation/create', params };
}

/**
 * Converts the answer of a model, or a list of folders, to the content of the form. An answer of a user, which has
 * an action, stays as it is.
 */
export function formAnswer(
  form: FormQuestion,
  answer: JsonObject | undefined,
): JsonObject | undefined {
  if (answer === undefined || answer['action'] !== undefined) return answer;
  const accept = (name: string, lines: readonly string[], separator: string) => {
    const text = lines.join(separator).slice(0, formLimits.textLength);
    return { action: 'accept', content: { [name]: text.toWellFormed() } };
  };
  switch (programAbility(form)) {
    case 'sampling': {
      const blocks = [answer['content'] ?? []].flat() as readonly JsonValue[];
      const texts = blocks.flatMap((block) => textIn(block, 'text'));
      return texts.length > 0 ? accept('text', texts, '') : undefined;
    }
    case 'roots': {
      const roots = answer['roots'];
      if (!Array.isArray(roots)) return undefined;
      return accept(
        'folders',
        roots.flatMap((root) => textIn(root, 'uri')),
        '\n',
      );
    }
    default:
      return undefined;
  }
}

/** The reason against a form with hidden characters in a name or a value. */
const hiddenValues = 'The form has values with invisible characters';

function textIn(value: JsonValue | undefined, name: string): readonly string[] {
  const text = field(value, name);
  return typeof text === 'string' ? [text] : [];
}

function elicitation(asked: AskedApproval, state: FoldState): JsonObject {
  const reason = { type: 'string', title: 'Reason, if you do not allow it', maxLength: 2000 };
  const allow = {
    properties: { approve: { type: 'boolean', title: 'Allow this call' }, reason },
    required: ['approve'],
  };
  return {
    message: describeQuestion(asked, state),
    requestedSchema: {
      type: 'object',
      ...(shownInput(asked, state) === undefined ? { properties: { reason } } : allow),
    },
  };
}

/**
 * Returns the command for an answer of the user. Every answer other than a clear consent denies the call. A call
 * that the question did not show is denied too.
 */
function answerCommand(
  { toolCallId, from }: AskedApproval,
  answer: JsonObject | undefined,
  isShown: boolean,
  by: string,
): Command {
  const call = { tool_call_id: toolCallId, by };
  const deny = (reason: string): Command => ({
    ...{ type: 'deny', ...call },
    reason: reason.slice(0, maxReasonLength),
  });
  if (from?.form !== undefined) {
    const given = formAnswer(from.form, answer);
    const [action, content] = [field(given, 'action'), field(given, 'content')];
    // A client can send its answer with the call, before it got the question.
    if (programAbility(from.form) === undefined && !isFormShowable(from.form))
      return deny(hiddenValues);
    if (action === 'accept' && isJsonObject(content))
      return { type: 'approve', ...call, input: content };
    return deny(action === 'decline' ? 'The user declined to answer' : formDismissed);
  }
  const [action, content] = [field(answer, 'action'), field(answer, 'content')];
  if (action === 'accept' && field(content, 'approve') === true && isShown)
    return { type: 'approve', ...call };
  if (!isShown) return deny('The client cannot show the input of this call to its user');
  const reason = field(content, 'reason');
  if (typeof reason === 'string' && reason !== '') return deny(reason);
  return deny(action === 'cancel' ? 'The user dismissed the question' : 'The user declined');
}

interface AnswerOptions {
  /** The name of the client's protocol. Default: `mcp`. */
  readonly by?: string | undefined;
  /** The idempotency key of the last answer. Default: each key contains the turn and the id of its call. */
  readonly lastKey?: string | undefined;
}

/** Answers questions of a session. Answers to other questions are ignored, as the protocol says. */
export async function submitAnswers(
  taskId: string,
  answers: ReadonlyMap<string, JsonObject | undefined>,
  { service, log, trace }: Pick<RouteContext, 'service' | 'log' | 'trace'>,
  { by = 'mcp', lastKey }: AnswerOptions = {},
): Promise<void> {
  const { fold } = await readChatNear(log, taskId);
  const answered = fold.asked.filter(({ toolCallId }) => answers.has(toolCallId));
  for (const asked of answered) {
    const { toolCallId } = asked;
    const isShown = shownInput(asked, fold) !== undefined;
    const command = answerCommand(asked, answers.get(toolCallId), isShown, by);
    // A repeated answer has the same idempotency key, so it has no further effect.
    // A key has at most 256 characters, and ids of calls can be longer. A cut key could belong to two questions.
    const question = createHash('sha256').update(JSON.stringify([asked.turn, toolCallId]));
    const own = `${by}-answer:${question.digest('base64url')}`;
    const key = asked === answered.at(-1) ? (lastKey ?? own) : own;
    await service.tasks.submit(taskId, command, { key, trace });
  }
}

/** The name of an open question for clients: the key that the tool chose, or the id of the question. */
export function questionKey({ toolCallId, from }: AskedApproval, tool: OfferedTool): string {
  // A session of a direct call has only one call, and all keys of a call differ. A session of an agent can have
  // several calls that use the same key.
  return (tool.called === undefined ? undefined : from?.form?.key) ?? toolCallId;
}

/** Returns the answers to the open questions of a run by the ids of the questions. */
export function answersById(
  answers: ReadonlyMap<string, JsonObject | undefined>,
  waiting: readonly AskedApproval[],
  tool: OfferedTool,
): ReadonlyMap<string, JsonObject | undefined> {
  const byId = waiting.flatMap((asked) =>
    [questionKey(asked, tool), asked.toolCallId]
      .filter((key) => answers.has(key))
      .map((key) => [asked.toolCallId, answers.get(key)] as const),
  );
  return new Map([...answers, ...byId]);
}

/** Reads the field `inputResponses` of a request. */
export function readAnswers(params: JsonObject): ReadonlyMap<string, JsonObject | undefined> {
  const given = field(params, 'inputResponses');
  const entries = isJsonObject(given) ? Object.entries(given) : [];
  return new Map(entries.map(([key, value]) => [key, isJsonObject(value) ? value : undefined]));
}

/**
 * Returns the id of a request of the server. It names the session and the question, so every server of a
 * cluster can receive the answer.
 */
export function questionId(taskId: string, { toolCallId }: AskedApproval): string {
  return `q.${Buffer.from(JSON.stringify([taskId, toolCallId])).toString('base64url')}`;
}

/** Reads the id of a request of the server. Returns undefined if the text is not such an id. */
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
