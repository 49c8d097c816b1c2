import { type Item, type JsonObject, noUsage, type Part, toBase64 } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, ResponseEnd, StreamContext, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { redact, redactError } from '../errors/redact.ts';
import { agentSecretsOf, isRedacted, Redactor } from '../errors/redactor.ts';
import { isOfSession } from '../history/remote-state.ts';
import { createProvider } from '../provider/create-provider.ts';
import { AgentConnection, a2aFault } from './connection.ts';
import { type RemoteTask, TaskWriter, taskPart } from './task-writer.ts';

/** Options of `a2a`. */
export interface A2aOptions {
  /** The address of the agent: the URL of its card, or the URL that `.well-known/agent-card.json` follows. */
  readonly url: string;
  /** Headers of all requests, for example `{ authorization: 'Bearer …' }`. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A name for the agent in the log. Default: the host of the URL. */
  readonly name?: string | undefined;
  /** Maximum time without a byte of the agent, in milliseconds. Default: 300,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * Uses a remote agent of A2A 1.0 as the model of an agent. The remote agent has its own model and tools, so it
 * ignores the tools and instructions of the request. The texts, reasoning and files of the remote agent are
 * streamed to the log.
 *
 * - A stop cancels the task of the remote agent.
 * - A question of the remote agent ends the answer. The next message of the user is the answer to it.
 * - After a lost connection, the provider subscribes to the task again.
 *
 * @example
 * const agent = createAgent({ provider: a2a({ url: 'https://agents.example/weather' }), log });
 */
export function a2a(options: A2aOptions): Provider {
  const { url, headers = {}, name = new URL(url).host, idleTimeoutMs = 300_000 } = options;
  const connection = new AgentConnection({
    ...{ url, headers, idleTimeoutMs },
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  });
  const redactor = new Redactor(agentSecretsOf({ url, headers }));
  return createProvider('a2a', name, (request, context) =>
    withoutSecrets(streamTask(connection, request, context), redactor),
  );
}

/** Removes the headers and the secrets of the address from everything except the texts of the remote agent. */
async function* withoutSecrets(
  steps: AsyncIterable<StreamStep>,
  redactor: Redactor,
): AsyncGenerator<StreamStep> {
  for await (const { deltas, end } of steps) {
    const clean = redactor.deltas(deltas);
    if (end === undefined) yield { deltas: clean };
    else {
      const error = end.error && errorWithout(redactor.secrets, end.error);
      yield { deltas: clean, end: redactor.end({ ...end, error }) };
    }
  }
}

/** Returns a copy of an error without the secrets. It removes them before it cuts the message. */
function errorWithout(
  secrets: readonly string[],
  { kind, message, status, retry, providerCode, cause }: ProviderError,
): ProviderError {
  const code = providerCode === undefined ? undefined : redact(providerCode, secrets);
  return new ProviderError(kind, redact(message, secrets).slice(0, maxMessageLength), {
    ...{ provider: 'a2a', status, retry, providerCode: code?.slice(0, maxMessageLength) },
    // The reason of an abort comes from our side.
    cause: kind === 'aborted' ? cause : redactError(cause, secrets),
  });
}

/** Maximum length of the message of an error, in characters. */
const maxMessageLength = 2000;

async function* streamTask(
  connection: AgentConnection,
  { items }: ModelRequest,
  { item, ids, session, signal = new AbortController().signal }: StreamContext,
): AsyncGenerator<StreamStep> {
  const { id: itemId, turn, attempt } = item;
  const before = remoteTaskIn(items, session);
  const writer = new TaskWriter({ itemId, turn, attempt, ids }, before, session);
  try {
    for await (const event of follow(connection, messageOf(items, before), writer, signal)) {
      writer.add(event);
      const deltas = writer.take();
      if (deltas.length > 0) yield { deltas };
      if (writer.isOver) break;
    }
    writer.finish();
    const end = endOf(writer);
    yield { deltas: writer.take(), end };
  } catch (error) {
    const problem = signal.aborted
      ? a2aFault('aborted', 'The request was stopped', { cause: signal.reason })
      : toProviderError(error);
    if (signal.aborted) await cancel(connection, writer.taskId);
    writer.cut(signal.aborted ? 'aborted' : 'cut');
    const stop = { reason: signal.aborted ? 'aborted' : 'error' } as const;
    yield { deltas: writer.take(), end: { stop, usage: noUsage, error: problem } };
  }
}

/** Maximum number of attempts to follow a task again after a lost connection, without an event between them. */
const maxTries = 5;
const firstPauseMs = 200;

/** Yields the events of a task. It subscribes again if the connection breaks. */
async function* follow(
  connection: AgentConnection,
  params: JsonObject,
  writer: TaskWriter,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  let events = connection.send(params, signal);
  for (let tries = 0; ; tries++) {
    try {
      for await (const event of events) {
        tries = 0;
        yield event;
      }
      throw a2aFault('truncated_stream', 'The agent ended the stream before its task');
    } catch (error) {
      const { taskId } = writer;
      const isLost =
        error instanceof ProviderError && ['network', 'truncated_stream'].includes(error.code);
      if (!isLost || signal.aborted || taskId === undefined || tries >= maxTries) throw error;
      await pause(firstPauseMs * 2 ** tries, signal);
      events = resume(connection, taskId, signal);
    }
  }
}

async function* resume(
  connection: AgentConnection,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  try {
    yield* connection.events('SubscribeToTask', { id }, signal);
  } catch (error) {
    // The protocol refuses a subscription to a task that has ended.
    if (!(error instanceof ProviderError) || error.code !== 'invalid_request') throw error;
    yield { task: await connection.call('GetTask', { id }, signal) };
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}

const cancelTimeoutMs = 5000;

/** Cancels a task. An error has no effect, because the task may have ended. */
async function cancel(connection: AgentConnection, id: string | undefined): Promise<void> {
  if (id === undefined) return;
  await connection.call('CancelTask', { id }, AbortSignal.timeout(cancelTimeoutMs)).catch(() => {});
}

function endOf(writer: TaskWriter): ResponseEnd {
  const { state, problem } = writer;
  if (!['FAILED', 'REJECTED', 'CANCELED'].includes(state))
    return { stop: { reason: 'stop' }, usage: noUsage };
  const text = problem === '' ? '' : `: ${problem}`;
  const message = `The remote task ended with the state ${state.toLowerCase()}${text}`;
  const kind = state === 'REJECTED' ? 'filtered' : 'server';
  // The remote agent has already retried what can be retried.
  const error = new ProviderError(kind, message, { provider: 'a2a', retry: 'no' });
  return { stop: { reason: 'error' }, usage: noUsage, error };
}

function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return a2aFault('protocol_error', 'The agent sent content that cannot be stored', {
    cause: error,
  });
}

/**
 * Returns the remote task of the last answer. Its context continues, and a question gets its answer. A copy of a
 * session has the answers of its original, but the remote context belongs to the original. The copy starts a new
 * one, so that neither session receives the messages of the other.
 */
function remoteTaskIn(items: readonly Item[], session: string | undefined): RemoteTask | undefined {
  for (const { kind, parts } of items.toReversed()) {
    if (kind !== 'assistant') continue;
    const found = parts.findLast((part) => part.kind === 'custom' && part.name === taskPart);
    if (found?.kind !== 'custom') continue;
    const value = found.value as JsonObject;
    if (!isOfSession(value, session)) return undefined;
    const { taskId, contextId, state, artifacts } = value;
    return {
      taskId: typeof taskId === 'string' && !isRedacted(taskId) ? taskId : undefined,
      contextId: typeof contextId === 'string' && !isRedacted(contextId) ? contextId : undefined,
      state: String(state),
      artifacts: Array.isArray(artifacts) ? artifacts.map(String) : [],
    };
  }
  return undefined;
}

/** Returns the request with the messages of the user after the last answer. */
function messageOf(items: readonly Item[], before: RemoteTask | undefined): JsonObject {
  const from = items.findLastIndex(({ kind }) => kind === 'assistant') + 1;
  const sent = items.slice(from).filter(({ kind }) => kind === 'user');
  const parts = sent.flatMap((item) => item.parts.flatMap(toPart));
  if (parts.length === 0) throw a2aFault('invalid_request', 'There is no message for the agent');
  const messageId = sent.at(-1)?.id ?? '';
  const message: JsonObject = {
    ...{ messageId, role: 'ROLE_USER', parts },
    ...(before?.contextId !== undefined && { contextId: before.contextId }),
    ...(before?.taskId !== undefined && { taskId: before.taskId }),
  };
  return { message };
}

function toPart(part: Part): readonly JsonObject[] {
  if (part.kind === 'text') return part.text === '' ? [] : [{ text: part.text }];
  if (part.kind !== 'media' && part.kind !== 'file') return [];
  const { source, mimeType: mediaType } = part;
  const known = { mediaType, ...(part.kind === 'file' && { filename: part.name }) };
  if (source.type === 'url') return [{ url: source.url, ...known }];
  if (source.type === 'bytes') return [{ raw: toBase64(source.bytes), ...known }];
  return [];
}
