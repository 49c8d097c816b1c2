import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  proxyActivities,
} from '@temporalio/workflow';
import type { MillraceActivities } from '../contract/activities.ts';
import type { AgentWorkflowOptions } from '../contract/agent-workflow.ts';

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

/** What came of one whose lease is another's is nothing; any other failure goes on. */
export function unlessFenced(error: unknown): undefined {
  if (typeOf(error) !== 'millrace.fenced') throw error;
}

/** Ends a workflow whose session was deleted: what would go on is another conversation. */
export function gone(session: string): ApplicationFailure {
  const message = `Cannot go on with session ${session}: it was deleted while its workflow ran`;
  return ApplicationFailure.nonRetryable(message, 'millrace.no_session');
}

/** As retry policies know it. */
export function typeOf(error: unknown): string | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) return cause.type ?? undefined;
  return cause instanceof Error ? cause.name : undefined;
}

/** Temporal takes no more than 2 MiB for an activity; a workflow that asks for more does not get on any more. */
const maxBytes = 1_500_000;

/** Refuses what is too large for an activity, before Temporal does. */
export function smallEnough<T>(what: string, value: T): T {
  const { length } = new TextEncoder().encode(JSON.stringify(value));
  if (length <= maxBytes) return value;
  const message = `Cannot give ${what} to an activity: its JSON has ${length} bytes, and ${maxBytes} is the most. Leave it on the log by log.submit(…), and signal wake`;
  throw ApplicationFailure.nonRetryable(message, 'millrace.too_large');
}
