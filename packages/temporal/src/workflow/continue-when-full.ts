import { allHandlersFinished, CancellationScope, condition } from '@temporalio/workflow';
import type { Carried } from '../contract/workflow-input.ts';
import type { AgentSession } from './agent-session.ts';
import { isListeningAlone } from './listen-to.ts';
import type { OnPlan } from './session-options.ts';

/**
 * For `run({ onPlan })`: when this execution is full, the next one goes on. `next` continues as new, with
 * what is carried in its input: `(carried) => continueAsNew({ …, carried })`.
 */
export function continueWhenFull(
  session: AgentSession,
  next: (carried: Carried) => Promise<unknown>,
): OnPlan {
  const whole = CancellationScope.current();
  return async () => {
    if (!session.isFull) return;
    await condition(allHandlersFinished);
    // The next execution would not know that it was cancelled, nor of other sessions that go on here.
    if (whole.consideredCancelled || !isListeningAlone(session)) return;
    await next(session.carried);
  };
}
