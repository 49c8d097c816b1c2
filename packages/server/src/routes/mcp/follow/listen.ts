import type { JsonObject, JsonValue } from '@millrace/core';
import { encodeComment, encodeFrame, sseHeaders } from '@millrace/core/streams';
import type { HttpResponse } from '../../../contract/http.ts';
import { type RouteContext, StreamReply } from '../../../http/route.ts';
import { writeLines } from '../../../http/write-lines.ts';
import type { Question } from '../../openai/response-log.ts';
import type { McpOptions } from '../mcp-options.ts';
import { findRun } from '../open-call.ts';
import type { McpCaller } from '../protocol/caller.ts';
import { field, invalidParams, type McpId, parseTexts } from '../protocol/rpc-message.ts';
import { parseTaskId, taskIdOf } from '../protocol/run-ref.ts';
import { followRun } from '../run-view.ts';
import { assertTasks, taskReader } from '../tasks.ts';
import { failure } from '../write-call.ts';
import { findWatched, type WatchedResource } from './watch.ts';

/** Maximum number of resources and tasks that one stream follows. Each of them has a reader. */
const maxFollowed = 16;

/** Maximum number of names in a request. Names can be repeated. */
const maxListed = 64;

/** The changes about which a client wants notifications. */
interface Subscription {
  readonly watched: readonly WatchedResource[];
  readonly runs: readonly Question[];
}

/** Opens a stream that reports changes of resources and tasks to a client. */
export async function openListen(
  id: McpId,
  params: JsonObject,
  caller: McpCaller,
  options: McpOptions,
  context: RouteContext,
): Promise<StreamReply> {
  const filter = field(params, 'notifications');
  const texts = (name: string) => [...new Set(parseTexts(field(filter, name), name, maxListed))];
  const [taskIds, uris] = [texts('taskIds'), texts('resourceSubscriptions')];
  if (field(filter, 'taskIds') !== undefined) assertTasks(caller);
  if (taskIds.length + uris.length > maxFollowed)
    throw invalidParams(`Cannot follow more than ${maxFollowed} resources and tasks in one stream`);
  const subscription = await readSubscription(taskIds, uris, options, context);
  const { clock, closing } = context;
  const write = async (response: HttpResponse) => {
    response.writeHead(200, { ...sseHeaders });
    response.flushHeaders();
    const left = new AbortController();
    const leave = () => left.abort();
    response.once('close', leave);
    closing.addEventListener('abort', leave, { once: true });
    if (response.destroyed || closing.aborted) leave();
    try {
      const messages = notifications(id, subscription, filter, { caller, context }, left.signal);
      await writeLines(response, messages, {
        context,
        errorLine: (error) => encodeFrame({ data: JSON.stringify(failure(id, error, context)) }),
        line: (message) => encodeFrame({ data: JSON.stringify(message) }),
        heartbeat: { clock, everyMs: 15_000, text: `${encodeComment('ping')}\n` },
      });
    } finally {
      leave();
      response.off('close', leave);
      closing.removeEventListener('abort', leave);
    }
  };
  return new StreamReply(write, { isRefusable: true });
}

/** Reads what the caller can follow. Resources and tasks of others are left out. */
async function readSubscription(
  taskIds: readonly string[],
  uris: readonly string[],
  options: McpOptions,
  context: RouteContext,
): Promise<Subscription> {
  const runs: Question[] = [];
  for (const id of taskIds) {
    const ref = parseTaskId(id);
    const run = ref && (await findRun(ref, context));
    if (run !== undefined) runs.push(run);
  }
  const watched: WatchedResource[] = [];
  for (const uri of uris) {
    const resource = await findWatched(uri, options, context);
    if (resource !== undefined) watched.push(resource);
  }
  return { runs, watched };
}

interface Listener {
  readonly caller: McpCaller;
  readonly context: RouteContext;
}

async function* notifications(
  id: McpId,
  { watched, runs }: Subscription,
  filter: JsonValue | undefined,
  { caller, context }: Listener,
  signal: AbortSignal,
): AsyncGenerator<object> {
  const meta = { 'io.modelcontextprotocol/subscriptionId': String(id) };
  const notify = (method: string, params: JsonObject) => ({
    ...{ jsonrpc: '2.0', method },
    params: { ...params, _meta: meta },
  });
  yield notify('notifications/subscriptions/acknowledged', {
    notifications: {
      ...(field(filter, 'taskIds') !== undefined && { taskIds: runs.map(taskIdOf) }),
      ...(field(filter, 'resourceSubscriptions') !== undefined && {
        resourceSubscriptions: watched.map(({ uri }) => uri),
      }),
    },
  });
  const { log } = context;
  const updated = async function* ({ uri, through, watch }: WatchedResource) {
    for await (const _ of watch(through, signal))
      yield notify('notifications/resources/updated', { uri });
  };
  // Reading a long run takes time, so the runs are opened one after the other.
  let opened: Promise<unknown> = Promise.resolve();
  const changed = async function* (question: Question) {
    const before = opened;
    const { promise, resolve } = Promise.withResolvers<void>();
    opened = promise;
    await before;
    try {
      const describe = await taskReader(question, caller, context);
      let last = '';
      for await (const run of followRun(question, log, signal)) {
        const state = [run.end, run.waiting.map(({ toolCallId }) => toolCallId), run.awaitsOutput];
        const now = JSON.stringify(state);
        if (now !== last) yield notify('notifications/tasks', await describe(run));
        last = now;
        resolve();
      }
    } finally {
      resolve();
    }
  };
  yield* merge([...watched.map(updated), ...runs.map(changed)], signal);
}

/**
 * Yields the values of all sources as they arrive, until the signal is aborted. A source that is silent for long
 * has one pending promise with one reaction. A race in each round would add a reaction to this promise for each
 * value of the other sources, and keep them all in memory.
 */
async function* merge<T>(
  sources: readonly AsyncGenerator<T>[],
  signal: AbortSignal,
): AsyncGenerator<T> {
  /** The values of the sources that the caller has not received yet, at most one for each source. */
  const arrived: (
    | { readonly source: AsyncGenerator<T>; readonly value: T }
    | { readonly error: unknown }
  )[] = [];
  let wake = () => {};
  const arrive = (step: (typeof arrived)[number]) => {
    arrived.push(step);
    wake();
  };
  const pull = (source: AsyncGenerator<T>): void => {
    source.next().then(
      ({ done, value }) => done === true || arrive({ source, value }),
      (error: unknown) => arrive({ error }),
    );
  };
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  for (const source of sources) pull(source);
  try {
    while (!signal.aborted) {
      const step = arrived.shift();
      if (step === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if ('error' in step) throw step.error;
      pull(step.source);
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
