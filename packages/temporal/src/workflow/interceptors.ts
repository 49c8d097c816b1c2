import type { WorkflowInterceptors } from '@temporalio/workflow';
import { idsIn, type PropagatedIds, withHeader } from '../ids/id-header.ts';

/**
 * Returns interceptors that pass the ids of a workflow to its activities, its child workflows and its
 * next execution.
 */
export function interceptors(): WorkflowInterceptors {
  let ids: PropagatedIds = {};
  return {
    inbound: [
      {
        async execute(input, next) {
          ids = idsIn(input.headers);
          return next(input);
        },
        async handleSignal(input, next) {
          // The task of the workflow stays the same, but a later signal may have a new trace.
          const received = idsIn(input.headers);
          ids = { ...received, ...ids, ...(received.trace && { trace: received.trace }) };
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
