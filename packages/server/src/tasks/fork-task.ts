import type { Run } from '@millrace/agent';
import {
  type FilePart,
  type Item,
  itemId,
  type SessionId,
  sessionId,
  type TraceContext,
  toArray,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { withFiles } from '../agents/loops/loop-commands.ts';
import type { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import type { ForkTask } from '../contract/request-bodies.ts';
import type { LoopAgent } from '../contract/served-agent.ts';
import { ServerError } from '../contract/server-error.ts';
import type { Task } from '../contract/task.ts';
import { convertContent } from '../messages/message-drafts.ts';
import { createTracker } from '../stores/row-services.ts';
import type { StoredTask } from '../stores/task-store.ts';
import { contentToParts } from '../updates/content-parts.ts';

interface ForkOptions extends RunnerOptions {
  readonly loops: LoopRunner;
}

/** Creates a task with a copy of all records before an item. The new task continues from there. */
export async function forkTask(
  options: ForkOptions,
  { task: from, agentId, owner }: StoredTask,
  { agent }: LoopAgent,
  body: ForkTask,
  trace?: TraceContext,
): Promise<Task> {
  const { log, rows, tasks, ids, loops, files } = options;
  const newSession = ids.session();
  const detach = new AbortController();
  const input = inputOf(body, ids.item(), await files.partsOf(from.id, body.content));
  const runOptions = {
    into: newSession,
    leave: detach.signal,
    trace,
    observers: loops.observersOf(newSession, agent),
  };
  const item = body.item_id == null ? undefined : itemId(body.item_id);
  const run =
    input === undefined || item === undefined
      ? agent.regenerate(sessionId(from.id), { ...runOptions, ...(item && { item }) })
      : agent.edit(sessionId(from.id), item, [input], runOptions);
  await untilStarted(run);
  const through = (await log.info(newSession))?.origin?.through;
  if (through === undefined) throw await forkError(from.id, run);
  const branch = { of: from.id, after: await lastItem(log, sessionId(from.id), through) };
  // Lists show a branch together with its parent. The branch therefore does not inherit pin, archive and
  // folder.
  const { pinned: _, archived: __, folder: ___, ...inherited } = from.task_metadata ?? {};
  const task_metadata = { ...inherited, branch };
  const task = await tasks.adopt({ agentId, owner }, newSession, {
    ...{ params: from.params, task_metadata },
  });
  await createTracker(rows, newSession, agentId);
  loops.track(newSession, agent, run, { detach, isRunning: true });
  return task;
}

function inputOf(
  { item_id, content }: ForkTask,
  id: Item['id'],
  files: readonly FilePart[],
): Item | undefined {
  if (content == null) return undefined;
  if (item_id == null) {
    const message = 'Cannot replace an item without `item_id`: it names the item to replace';
    throw new ServerError('invalid', message);
  }
  const parts = convertContent(() => contentToParts(content));
  return { id, kind: 'user', parts: withFiles(parts, files) };
}

/** Resolves when the new session exists, or when the run failed before that. */
async function untilStarted(run: Run): Promise<void> {
  const events = run.events[Symbol.asyncIterator]();
  await Promise.race([run.result, events.next()]);
  void events.return?.();
}

async function forkError(taskId: string, run: Run): Promise<ServerError> {
  const { error } = await run.result;
  const message = error?.message ?? `Cannot fork task ${taskId}: it has no such item`;
  return new ServerError('not_found', message, { task: taskId });
}

/** Returns the id of the last item that both tasks contain. Returns null if they share no item. */
async function lastItem(log: Log, session: SessionId, through: number): Promise<string | null> {
  if (through === 0) return null;
  const { items } = await snapshot(log, session, { through });
  return toArray(items).at(-1)?.id ?? null;
}
