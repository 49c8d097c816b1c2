import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { idsIn, type TravellingIds, withHeader } from './id-header.ts';

const storage = new AsyncLocalStorage<TravellingIds>();

/** In an activity: the ids that came with it. Elsewhere: those of `withIds`. */
export function currentIds(): TravellingIds {
  return storage.getStore() ?? {};
}

/** Workflows that are started or signalled by this work carry the ids to their activities. */
export function withIds<T>(ids: TravellingIds, work: () => T): T {
  return storage.run({ ...currentIds(), ...ids }, work);
}

/** The ids of `withIds` go with whatever starts or signals a workflow. */
export const clientInterceptor: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    next({ ...input, headers: withHeader(input.headers, currentIds()) }),
  signal: (input, next) => next({ ...input, headers: withHeader(input.headers, currentIds()) }),
  signalWithStart: (input, next) =>
    next({ ...input, headers: withHeader(input.headers, currentIds()) }),
};

/** An activity has the ids that came with it: `currentIds()`. */
export const activityInterceptor: ActivityInterceptorsFactory = () => ({
  inbound: { execute: (input, next) => withIds(idsIn(input.headers), () => next(input)) },
});
