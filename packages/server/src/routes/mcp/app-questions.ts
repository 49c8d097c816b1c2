import type { FormAnswer } from '@millrace/agent';
import {
  checkForm,
  type FormQuestion,
  isJsonObject,
  type JsonObject,
  parseJson,
  readForm,
} from '@millrace/core';
import { ServerError } from '../../contract/server-error.ts';
import type { RouteContext } from '../../http/route.ts';
import type { McpQuestion, McpReader } from './mcp-options.ts';
import type { McpCaller } from './protocol/caller.ts';
import { field, invalidParams } from './protocol/rpc-message.ts';
import { formAnswer, formRequest, readAnswers } from './questions.ts';

/** Maximum number of questions of one request. */
const maxQuestions = 20;

/** Maximum length of a state that a client sends back. It contains the answers of its own user. */
const maxStateLength = 500_000;

/** Thrown to end a function of the application when it asks a question that has no answer yet. */
class OpenQuestion extends Error {}

/** Returns the caller for functions of the application that cannot ask the user. `ask` always returns `cancel`. */
export function readerOf({ grant: { scope } }: RouteContext): McpReader {
  const ask = async (): Promise<FormAnswer> => ({ action: 'cancel' });
  return { user: scope.kind === 'user' ? scope.user : undefined, ask };
}

/**
 * Runs a function of the application that can ask the user. If an answer is missing, the result has the questions,
 * and the client sends the request again with the answers. The function then runs from its start. The state of the
 * request contains the earlier answers, so the server stores nothing.
 */
export async function withQuestions(
  params: JsonObject,
  caller: McpCaller,
  context: RouteContext,
  work: (reader: McpReader) => Promise<JsonObject>,
): Promise<JsonObject> {
  const answers = new Map([...readState(field(params, 'requestState')), ...readAnswers(params)]);
  const used: Record<string, JsonObject> = {};
  const open = new Map<string, JsonObject>();
  const ask = async (question: McpQuestion): Promise<FormAnswer> => {
    const { key } = question;
    if (!canAsk(question, caller)) return { action: 'cancel' };
    if (open.has(key) || Object.hasOwn(used, key))
      throw badQuestion(key, 'the key was used before');
    if (open.size + Object.keys(used).length >= maxQuestions)
      throw badQuestion(key, `there are more than ${maxQuestions} questions`);
    const given = formAnswer(question, answers.get(key));
    const answer = given && readAnswer(question, given);
    if (given !== undefined && answer !== undefined) {
      used[key] = given;
      return answer;
    }
    open.set(key, formRequest(question, caller));
    throw new OpenQuestion();
  };
  const reader = { ...readerOf(context), ask };
  const result = await work(reader).catch((error: unknown) => {
    if (error instanceof OpenQuestion) return undefined;
    throw error;
  });
  if (result !== undefined && open.size === 0) return result;
  return {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(open),
    ...(Object.keys(used).length > 0 && { requestState: JSON.stringify(used) }),
  };
}

function canAsk({ request }: FormQuestion, { isModern, abilities }: McpCaller): boolean {
  // A server of an earlier version would have to keep the request open, and a restart would lose it.
  if (!isModern) return false;
  if (abilities.has('elicitation')) return true;
  return request !== undefined && abilities.has(request.type === 'model' ? 'sampling' : 'roots');
}

/** Returns the answer, or undefined if it does not fit the form. */
function readAnswer(question: McpQuestion, given: JsonObject): FormAnswer | undefined {
  const read = readForm(question);
  if (!read.ok) throw badQuestion(question.key, read.problem);
  const { action, content } = given;
  if (action === 'decline' || action === 'cancel') return { action };
  if (action !== 'accept' || !isJsonObject(content)) return undefined;
  const checked = checkForm(read.fields, content);
  return checked.ok ? { action, content: checked.content } : undefined;
}

/** Reads the earlier answers. They are answers of the client, so they need no signature. */
function readState(state: unknown): ReadonlyMap<string, JsonObject | undefined> {
  if (state === undefined) return new Map();
  const read =
    typeof state === 'string' && state.length <= maxStateLength ? parseJson(state) : undefined;
  if (read?.ok !== true || !isJsonObject(read.value))
    throw invalidParams('Cannot use this requestState: it belongs to another request');
  return readAnswers({ inputResponses: read.value });
}

function badQuestion(key: string, why: string): ServerError {
  return new ServerError('internal', `Cannot ask the question ${key} of this server: ${why}`);
}
