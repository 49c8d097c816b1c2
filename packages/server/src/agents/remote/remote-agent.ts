import type { JsonObject, TraceContext } from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { Content } from '../../contract/content.ts';
import type { UpdateInput } from '../../contract/message.ts';
import type { AsyncAgent, HandlerContext, SyncAgent } from '../../contract/served-agent.ts';
import type { AgentInfo, Task } from '../../contract/task.ts';
import { readUpdate, UpdateError } from '../../updates/read-update.ts';
import { abandoned, raceAbort } from '../abort-race.ts';
import { jsonLines, LineSequence } from './json-lines.ts';
import {
  ConnectionLostError,
  callRemote,
  type RemoteEndpoint,
  type RemoteLimits,
  remoteLimits,
  resultIn,
  resultOf,
} from './remote-call.ts';

/**
 * An agent that runs in a different process. It receives an interrupt as an HTTP call, because an abort
 * signal works only inside one process.
 */
export type RemoteAgent = (SyncAgent | AsyncAgent) & {
  readonly onInterrupt: (task: Task) => Promise<void>;
};

interface RemoteOptions {
  readonly info: AgentInfo;
  readonly endpoint: RemoteEndpoint;
  readonly clock: Clock;
  readonly onDiagnostic: (problem: string) => void;
  readonly limits?: RemoteLimits | undefined;
}

/** Maximum number of attempts to deliver an event. The delay between attempts grows with each attempt. */
const maxTries = 3;
const retryMs = 1000;

/** Creates a proxy that calls an agent in a different process over HTTP. */
export function remoteAgent(options: RemoteOptions): RemoteAgent {
  const { info } = options;
  const { name, description } = info;
  const notify = (method: string, task: Task, more: JsonObject = {}, context: CallContext = {}) =>
    callOnce(options, { method, task, more, signal: context.signal, trace: context.trace });
  const onInterrupt = (task: Task) => notify('task/interrupt', task);
  if (info.acp_type === 'sync') {
    const onMessage = (content: Content, context: HandlerContext) =>
      remoteUpdates(options, content, context);
    return { type: 'sync', name, description, onMessage, onInterrupt };
  }
  const retried = (call: () => Promise<void>, signal: AbortSignal) =>
    retryUntilDelivered(call, options.clock, signal);
  return {
    ...{ type: 'async', name, description, onInterrupt },
    onTaskCreate: (context) => {
      const { task, signal } = context;
      return retried(
        () => notify('task/create', task, { params: asJson(task.params) }, context),
        signal,
      );
    },
    onEvent: (event, context) => {
      const sent = { event: asJson(event), request: null };
      return retried(() => notify('event/send', context.task, sent, context), context.signal);
    },
    onCancel: (context) => notify('task/cancel', context.task, {}, context),
  };
}

interface Call {
  readonly method: string;
  readonly task: Task;
  readonly more: JsonObject;
  readonly signal?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
}

type CallContext = Pick<Call, 'signal' | 'trace'>;

async function callOnce(options: RemoteOptions, call: Call) {
  const { method, task, more, signal, trace } = call;
  const { endpoint, clock, limits = remoteLimits } = options;
  const params = { agent: agentJson(options), task: asJson(task), ...more } as JsonObject;
  const id = `${method}-${task.id}`;
  const request = { method, params, id, signal, trace };
  await resultOf(await callRemote(endpoint, request, clock, limits), limits);
}

/**
 * Calls the agent until it has received the event, at most `maxTries` times. The agent may have received the
 * event before the connection broke. It recognizes a repeated event by its id.
 */
async function retryUntilDelivered(
  call: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ConnectionLostError) || tries === maxTries) throw error;
      const pause = new Promise<void>((resolve) => clock.after(retryMs * tries, resolve));
      if ((await raceAbort(pause, signal)) === abandoned) throw error;
    }
  }
}

async function* remoteUpdates(
  options: RemoteOptions,
  content: Content,
  { task, signal, trace }: HandlerContext,
): AsyncGenerator<UpdateInput> {
  const { endpoint, clock, limits = remoteLimits, onDiagnostic, info } = options;
  const params = {
    ...{ agent: agentJson(options), task: asJson(task), content: asJson(content), stream: true },
  } as JsonObject;
  const request = { method: 'message/send', params, id: `message/send-${task.id}`, signal, trace };
  const { body, redactor } = await callRemote(endpoint, request, clock, limits);
  const counts = { unreadable: 0 };
  const sequence = new LineSequence();
  try {
    for await (const envelope of jsonLines(body, counts)) {
      if (!sequence.isNew((envelope as JsonObject | null)?.['seq'])) continue;
      const result = resultIn(envelope, redactor);
      for (const update of Array.isArray(result) ? result.flatMap(toFullUpdates) : [result]) {
        if (isUpdate(update)) yield update as UpdateInput;
        else counts.unreadable++;
      }
    }
  } finally {
    const skipped = counts.unreadable + sequence.repeated;
    if (skipped > 0)
      onDiagnostic(
        `Task ${task.id}: agent ${info.name} sent ${counts.unreadable} lines that are not updates and repeated ${sequence.repeated}`,
      );
  }
}

/**
 * Converts a message of an agent that does not stream into one full update. Such an agent sends a complete
 * message, or only the content of a message.
 */
function toFullUpdates(message: unknown, index: number): readonly unknown[] {
  const fields = (message ?? {}) as JsonObject;
  const content = 'task_id' in fields ? fields['content'] : fields;
  return [{ type: 'full', index, content }];
}

function isUpdate(value: unknown): boolean {
  try {
    readUpdate(value);
    return true;
  } catch (error) {
    if (error instanceof UpdateError) return false;
    throw error;
  }
}

function agentJson({ info, endpoint }: RemoteOptions): JsonObject {
  return { ...(asJson(info) as JsonObject), acp_url: endpoint.url, docker_image: null };
}

function asJson(value: unknown): JsonObject {
  return value as JsonObject;
}
