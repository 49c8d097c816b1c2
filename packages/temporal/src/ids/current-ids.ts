import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { idsIn, type PropagatedIds, withHeader } from './id-header.ts';

const storage = new AsyncLocalStorage<PropagatedIds>();

/** Returns the ids of the current activity. Outside of an activity, it returns the ids of `withIds`. */
export function currentIds(): PropagatedIds {
  return storage.getStore() ?? {};
}

/**
 * Runs `work` with these ids. If `work` starts or signals a workflow, the workflow passes the ids to its
 * activities.
 */
export function withIds<T>(ids: PropagatedIds, work: () => T): T {
  return storage.run({ ...currentIds(), ...ids }, work);
}

/** Sends the ids of `withIds` with every start or signal of a workflow. */
export const clientInterceptor: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    next({ ...input, headers: withHeader(input.headers, currentIds()) }),
  signal: (input, next) => next({ ...input, headers: withHeader(input.headers, currentIds()) }),
  signalWithStart: (input, next) =>
    next({ ...input, headers: withHeader(input.headers, currentIds()) }),
};

/** Makes the received ids available in an activity through `currentIds()`. */
export const activityInterceptor: ActivityInterceptorsFactory = () => ({
  inbound: { execute: (input, next) => withIds(idsIn(input.headers), () => next(input)) },
});
