import type { WorkflowClientInterceptor } from '@temporalio/client';
import { currentIds } from '../ids/current-ids.ts';
import { withHeader } from '../ids/header.ts';

/** The ids of `withIds` go with whatever starts or signals a workflow. */
export const clientInterceptor: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    next({ ...input, headers: withHeader(input.headers, currentIds()) }),
  signal: (input, next) => next({ ...input, headers: withHeader(input.headers, currentIds()) }),
  signalWithStart: (input, next) =>
    next({ ...input, headers: withHeader(input.headers, currentIds()) }),
};
