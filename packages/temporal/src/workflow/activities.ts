import {
  ActivityCancellationType,
  type ActivityOptions,
  proxyActivities,
} from '@temporalio/workflow';
import type { MillraceActivities } from '../contract/activities.ts';
import type { AgentWorkflowOptions } from '../contract/workflow-input.ts';

const hourMs = 3_600_000;

/** Once the lease is another's, trying again is in vain: the workflow has to advance first. */
const fenced = 'millrace.fenced';
/** What does not mend itself. */
const hopeless = [
  'bad_option',
  'unknown_agent',
  'session_closed',
  'no_session',
  'not_understood',
  'not_foldable',
].map((code) => `millrace.${code}`);
const nonRetryableErrorTypes = [fenced, ...hopeless];

/** The activities, each with the time that its work takes. */
export function activitiesFor(options: AgentWorkflowOptions): MillraceActivities {
  const { heartbeatMs = 30_000, requestTimeoutMs = hourMs, callTimeoutMs = hourMs } = options;
  const { maxAttempts: maximumAttempts = 10 } = options;
  const soon = { initialInterval: 200, maximumInterval: 30_000 };
  const live: ActivityOptions = {
    heartbeatTimeout: heartbeatMs,
    // What was said until it stopped is what it returns.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...soon, maximumAttempts, nonRetryableErrorTypes },
  };
  // A log that is away comes back: what only keeps the books is tried until then.
  const quick: ActivityOptions = {
    startToCloseTimeout: 60_000,
    retry: { ...soon, nonRetryableErrorTypes },
  };
  const { millraceSubmit, millraceHear } = proxyActivities<MillraceActivities>(quick);
  const { millraceAdvance } = proxyActivities<MillraceActivities>({
    ...{ startToCloseTimeout: requestTimeoutMs, heartbeatTimeout: heartbeatMs },
    retry: { ...soon, nonRetryableErrorTypes },
  });
  const forModel = { ...live, startToCloseTimeout: requestTimeoutMs };
  const { millraceRequest, millraceAutoSend } = proxyActivities<MillraceActivities>(forModel);
  const forTool = { ...live, startToCloseTimeout: callTimeoutMs };
  const { millraceCall } = proxyActivities<MillraceActivities>(forTool);
  const calls = { millraceRequest, millraceCall, millraceAutoSend };
  return { millraceSubmit, millraceHear, millraceAdvance, ...calls };
}
