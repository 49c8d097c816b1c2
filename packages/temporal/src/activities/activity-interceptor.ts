import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { withIds } from '../ids/current-ids.ts';
import { idsIn } from '../ids/header.ts';

/** An activity has the ids that came with it: `currentIds()`. */
export const activityInterceptor: ActivityInterceptorsFactory = () => ({
  inbound: { execute: (input, next) => withIds(idsIn(input.headers), () => next(input)) },
});
