import type { JsonObject } from '@millrace/core';
import type { RouteContext } from '../../http/route.ts';
import { followTask } from './followed-task.ts';
import { type A2aTask, openView } from './open-task.ts';
import { taskNotFound } from './protocol/a2a-error.ts';
import { linkTask } from './protocol/task-parts.ts';
import type { TaskFields } from './task-view.ts';

/** Waits until a task has ended or waits for an answer, and returns it. */
export async function waitFor(
  task: A2aTask,
  fields: TaskFields,
  context: RouteContext,
  signal: AbortSignal,
): Promise<JsonObject> {
  const options = { ...fields, historyLength: 0, stopsWhenAsked: true };
  for (;;) {
    for await (const _ of followTask(task, options, context, signal));
    if (!(await context.log.info(task.place.sessionId))) throw taskNotFound();
    const { view } = await context.inTurn(() => openView(task, context), 'wait');
    // When the stream ended, the agent waited for an answer. It may have got one answer of several and have
    // continued, so the loop follows the task again.
    if (view.isOver || view.waiting.length > 0 || signal.aborted)
      return linkTask(view.task(fields), task.place.base);
  }
}

/** Maximum time to wait for the end of a cancelled task. A tool can need longer. */
const cancelWaitMs = 10_000;

export async function waitForStop(
  task: A2aTask,
  context: RouteContext,
  signal: AbortSignal,
): Promise<JsonObject> {
  const late = new AbortController();
  const stop = context.clock.after(cancelWaitMs, () => late.abort(), { isIdle: true });
  try {
    const either = AbortSignal.any([signal, late.signal]);
    const options = { historyLength: 0, stopsWhenAsked: false };
    for await (const _ of followTask(task, options, context, either));
  } finally {
    stop();
  }
  const { view } = await context.inTurn(() => openView(task, context), 'wait');
  return linkTask(view.task(), task.place.base);
}
