import type { WorkflowInterceptors } from '@temporalio/workflow';
import { idsIn, type TravellingIds, withHeader } from '../ids/id-header.ts';

/** The ids that a workflow was started with go on to its activities, its children and its next execution. */
export function interceptors(): WorkflowInterceptors {
  let ids: TravellingIds = {};
  return {
    inbound: [
      {
        async execute(input, next) {
          ids = idsIn(input.headers);
          return next(input);
        },
        async handleSignal(input, next) {
          // Of a task that is known; a trace may come with whoever says something later.
          const told = idsIn(input.headers);
          ids = { ...told, ...ids, ...(told.trace && { trace: told.trace }) };
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) =>
          next({ ...input, headers: withHeader(input.headers, ids) }),
        startChildWorkflowExecution: (input, next) =>
          next({ ...input, headers: withHeader(input.headers, ids) }),
        continueAsNew: (input, next) => next({ ...input, headers: withHeader(input.headers, ids) }),
      },
    ],
  };
}
