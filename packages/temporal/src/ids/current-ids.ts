import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceContext } from '@millrace/core';

/** What goes with a task through clients, workflows and activities. */
export interface TravellingIds {
  /** The task, which is a session. */
  readonly task?: string | undefined;
  readonly trace?: TraceContext | undefined;
}

const storage = new AsyncLocalStorage<TravellingIds>();

/** In an activity: the ids that came with it. Elsewhere: those of `withIds`. */
export function currentIds(): TravellingIds {
  return storage.getStore() ?? {};
}

/** Workflows that are started or signalled by this work carry the ids to their activities. */
export function withIds<T>(ids: TravellingIds, work: () => T): T {
  return storage.run({ ...currentIds(), ...ids }, work);
}
