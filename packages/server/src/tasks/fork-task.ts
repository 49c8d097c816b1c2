import {
  branchSession,
  type ClientToolResult,
  type ForkedRunOptions,
  forkSession,
  type Run,
} from '@millrace/agent';
import {
  type FilePart,
  type Item,
  isMillraceError,
  itemId,
  type SessionId,
  sessionId,
} from '@millrace/core';
import { type ForkOptions as CopyOptions, type Log, readBackward } from '@millrace/log';
import { withFiles } from '../agents/loops/loop-commands.ts';
import type { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import type { Content } from '../contract/content.ts';
import type { BranchTask, ForkTask } from '../contract/request-bodies.ts';

import type { LoopAgent } from '../contract/served-agent.ts';
import { ServerError } from '../contract/server-error.ts';
import type { CopyLimit, RequestMetadata } from '../contract/service.ts';
import type { Task } from '../contract/task.ts';
import { convertContent } from '../messages/message-drafts.ts';
import { createTracker } from '../stores/row-services.ts';
import { keyedTaskId, type StoredTask } from '../stores/task-store.ts';
import { contentToParts } from '../updates/content-parts.ts';

type ForkMetadata = Pick<RequestMetadata, 'trace' | 'copies'>;

interface ForkOptions extends RunnerOptions {
  readonly loops: LoopRunner;
}

/** Creates a task with a copy of all records before an item. The new task continues from there. */
export async function forkTask(
  options: ForkOptions,
  stored: StoredTask,
  served: LoopAgent,
  body: ForkTask,
  sent: ForkMetadata = {},
): Promise<Task> {
  const { ids, files } = options;
  const from = stored.task.id;
  sent.copies?.assertFree();
  const input = inputOf(body, ids.item(), await files.partsOf(from, body.content));
  const item = body.item_id == null ? undefined : itemId(body.item_id);
  return startFork(options, stored, served, sent, ({ agent }, into, runOptions) =>
    input === undefined || item === undefined
      ? agent.regenerate(sessionId(from), { ...runOptions, into, ...(item && { item }) })
      : agent.edit(sessionId(from), item, [input], { ...runOptions, into }),
  );
}

/** Creates a task that continues another task from any record, with a change. */
export async function branchTask(
  options: ForkOptions,
  stored: StoredTask,
  served: LoopAgent,
  body: BranchTask,
  sent: ForkMetadata = {},
): Promise<Task> {
  const { ids, files } = options;
  sent.copies?.assertFree();
  const { at, content, model, instructions, results, rerun } = body;
  const from = stored.task.id;
  const attached = await files.partsOf(from, content);
  const input = content == null ? undefined : messageOf(content, ids.item(), attached);
  const branch = {
    at,
    ...(input && { input: [input] }),
    ...(model != null && { model }),
    ...(instructions != null && { instructions }),
    ...(results != null && { results: Object.fromEntries(results.map(resultOf)) }),
    ...(rerun != null && { rerun }),
  };
  return startFork(options, stored, served, sent, ({ agent }, into, runOptions) =>
    branchSession(agent, from, { ...branch, into }, runOptions),
  );
}

function resultOf({
  tool_call_id,
  output,
  error,
}: NonNullable<BranchTask['results']>[number]): readonly [string, ClientToolResult] {
  return [tool_call_id, error === undefined ? { output: output ?? null } : { error }];
}

type StartRun = (
  served: LoopAgent,
  into: SessionId,
  options: Required<Pick<ForkedRunOptions, 'leave' | 'observers'>> &
    Pick<ForkedRunOptions, 'trace' | 'onCopy'>,
) => Run;

/** Starts a run in a fork of a task, and creates the task of the fork. */
async function startFork(
  options: ForkOptions,
  { task: from, agentId, owner }: StoredTask,
  served: LoopAgent,
  { trace, copies }: ForkMetadata,
  start: StartRun,
): Promise<Task> {
  const { log, rows, tasks, ids, loops } = options;
  const { agent } = served;
  const newSession = ids.session();
  const detach = new AbortController();
  const observers = loops.observersOf(newSession, agent);
  const { run, through } = await limitedCopy(copies, async (onCopy) => {
    const options = { leave: detach.signal, trace, observers, ...(onCopy && { onCopy }) };
    const started = start(served, newSession, options);
    await untilStarted(started);
    const { origin } = (await log.info(newSession)) ?? {};
    if (origin === undefined) throw await forkError(from.id, started);
    return { run: started, through: origin.through };
  });
  const task_metadata = await branchMetadata(log, from, through);
  const task = await tasks.adopt({ agentId, owner }, newSession, {
    ...{ params: from.params, task_metadata },
  });
  await createTracker(rows, newSession, agentId);
  loops.track(newSession, agent, run, { detach, isRunning: true });
  return task;
}

/** Creates a task with a copy of the log of another task. No run starts. */
export async function copyTask(
  { log, rows, tasks, ids }: RunnerOptions,
  { task: from, agentId, owner }: StoredTask,
  copied: Omit<CopyOptions, 'into'>,
  { key, copies }: Pick<RequestMetadata, 'key' | 'copies'>,
): Promise<Task> {
  const into =
    key === undefined ? ids.session() : keyedTaskId(agentId, `copy:${from.id}:${key}`, owner);
  const known = key === undefined ? undefined : await tasks.find({ id: into });
  if (known !== undefined) return known.task;
  if ((await log.info(into)) === undefined)
    await limitedCopy(copies, (onCopy) =>
      forkSession(log, sessionId(from.id), { into, ...copied, ...(onCopy && { onCopy }) }),
    );
  const task_metadata = await branchMetadata(log, from, copied.through);
  const task = await tasks.adopt({ agentId, owner }, into, { params: from.params, task_metadata });
  await createTracker(rows, into, agentId);
  return task;
}

/**
 * Runs a copy within the limit of its caller. If the agent or the place does not allow the copy, it throws the reason
 * as `invalid`.
 */
function limitedCopy<T>(
  copies: CopyLimit | undefined,
  copy: (onCopy?: CopyOptions['onCopy']) => Promise<T>,
): Promise<T> {
  const copied = copies === undefined ? copy() : copies.run(copy);
  return copied.catch((error: unknown) => {
    if (!isMillraceError(error) || error.code !== 'bad_option') throw error;
    throw new ServerError('invalid', error.message, {}, { cause: error });
  });
}

/** Returns the metadata of a task that is a copy of another task up to an offset. */
async function branchMetadata(
  log: Log,
  { id, task_metadata }: Pick<Task, 'id' | 'task_metadata'>,
  through: number,
): Promise<NonNullable<Task['task_metadata']>> {
  const branch = { of: id, after: await lastItem(log, sessionId(id), through) };
  // Lists show a branch together with its parent. The branch therefore does not inherit pin, archive and
  // folder.
  const { pinned: _, archived: __, folder: ___, ...inherited } = task_metadata ?? {};
  return { ...inherited, branch };
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
  return messageOf(content, id, files);
}

function messageOf(content: Content, id: Item['id'], files: readonly FilePart[]): Item {
  const parts = convertContent(() => contentToParts(content));
  return { id, kind: 'user', parts: withFiles(parts, files) };
}

/** Resolves when the new session exists, or when the run failed before that. */
async function untilStarted(run: Run): Promise<void> {
  const events = run.events[Symbol.asyncIterator]();
  await Promise.race([run.result, events.next()]);
  void events.return?.();
}

/** The errors of a place or a change that a branch cannot have. */
const invalidPlaces: ReadonlySet<string> = new Set(['bad_option', 'bad_offset', 'no_such_call']);

async function forkError(taskId: string, run: Run): Promise<ServerError> {
  const { error } = await run.result;
  const message = error?.message ?? `Cannot fork task ${taskId}: it has no such item`;
  const isInvalid = error !== undefined && invalidPlaces.has(error.code);
  return new ServerError(isInvalid ? 'invalid' : 'not_found', message, { task: taskId });
}

/**
 * Returns the id of the last item that both tasks contain. Returns null if they share no item. It reads backward
 * up to this item, because the state of a long session takes seconds to fold.
 */
export async function lastItem(
  log: Log,
  session: SessionId,
  through: number,
): Promise<string | null> {
  const superseded = new Set<string>();
  for await (const records of readBackward(log, session, { through }))
    for (const { fact, turn, attempt } of records.toReversed()) {
      const tried = `${turn}.${attempt}`;
      if (fact?.type === 'attempt_superseded') superseded.add(tried);
      // A superseded attempt leaves no item. A redacted item stays, without its content.
      if (fact?.type === 'item_started' && !superseded.has(tried)) return fact.itemId;
    }
  return null;
}
