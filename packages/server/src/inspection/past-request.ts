import { requestAt } from '@millrace/agent';
import { type Attempt, MillraceError, sessionId } from '@millrace/core';
import type { PastRequestInfo } from '../contract/inspection.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { ServerError } from '../contract/server-error.ts';
import type { AgentInfo } from '../contract/task.ts';

/** Maximum length of a body. Longer bodies usually contain images, and the result omits them. */
const maxBodyLength = 2 ** 24;

interface TaskAgent {
  readonly info: AgentInfo;
  readonly agent: Pick<ServedAgent, 'type'> | ServedAgent;
}

/**
 * Maximum number of requests that wait to be rebuilt. The server rebuilds them one after the other. A request
 * of a long session takes seconds of CPU time, and several at once would delay other clients.
 */
const maxWaiting = 20;
let waiting = 0;
let last: Promise<unknown> = Promise.resolve();

/**
 * Rebuilds the model request that a task's agent sent in one attempt. Throws `rate_limited` if too many
 * requests wait.
 */
export async function pastRequest(
  taskId: string,
  agent: TaskAgent,
  at: Attempt,
): Promise<PastRequestInfo> {
  if (waiting >= maxWaiting) throw tooManyWaiting();
  waiting++;
  const rebuilt = last.then(() => rebuild(taskId, agent, at));
  last = rebuilt.catch(() => {});
  return rebuilt.finally(() => waiting--);
}

async function rebuild(
  taskId: string,
  { info, agent }: TaskAgent,
  at: Attempt,
): Promise<PastRequestInfo> {
  if (!('agent' in agent)) throw requestsNotLogged(info.name);
  const past = await requestAt(agent.agent, sessionId(taskId), at).catch((error: unknown) => {
    if (!(error instanceof MillraceError)) throw error;
    throw new ServerError('bad_state', error.message, { session: taskId }, { cause: error });
  });
  if (past === undefined) throw attemptNotFound(taskId, at);
  const { turn, attempt, provider, model, described, notes } = past;
  const identity = { task_id: taskId, turn, attempt, provider, model };
  const { url = null, body = null } = described ?? {};
  if (JSON.stringify(body).length <= maxBodyLength)
    return { ...identity, url, body, notes: [...notes] };
  const tooLong = `The body is longer than ${maxBodyLength} characters and was left out.`;
  return { ...identity, url, body: null, notes: [...notes, tooLong] };
}

function requestsNotLogged(name: string): ServerError {
  const message = `Cannot rebuild requests of agent ${name}: it sends its own requests to models, and they are not on the log`;
  return new ServerError('bad_state', message);
}

function tooManyWaiting(): ServerError {
  const message = `${maxWaiting} requests to models wait to be rebuilt: try again in a moment`;
  return new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
}

function attemptNotFound(task: string, { turn, attempt }: Attempt): ServerError {
  const message = `Task ${task} has no request of turn ${turn}, attempt ${attempt}: see its records for the existing ones`;
  return new ServerError('not_found', message, { session: task });
}
