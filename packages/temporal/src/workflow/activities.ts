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

/**
 * The failure type for a lost lease. A retry of the activity cannot succeed, because the workflow must first
 * take the lease again.
 */
const fenced = 'millrace.fenced';
/** The codes of errors for which a retry cannot succeed. */
const permanentErrors = [
  'bad_option',
  'bad_input',
  'bad_command',
  'no_price',
  'unknown_agent',
  'session_closed',
  'no_session',
  'not_understood',
  'not_foldable',
].map((code) => `millrace.${code}`);
const nonRetryableErrorTypes = [fenced, ...permanentErrors];

/** Returns the activities with their timeouts and retry policies. */
export function activitiesFor(options: AgentWorkflowOptions): MillraceActivities {
  const { heartbeatMs = 30_000, requestTimeoutMs = hourMs, callTimeoutMs = hourMs } = options;
  const { maxAttempts: maximumAttempts = 10 } = options;
  const retryDelays = { initialInterval: 200, maximumInterval: 30_000 };
  const longRunning: ActivityOptions = {
    heartbeatTimeout: heartbeatMs,
    // A cancelled activity returns its partial result.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...retryDelays, maximumAttempts, nonRetryableErrorTypes },
  };
  // An unavailable log usually becomes available again. Activities that only write records are therefore
  // retried without a limit.
  const shortRunning: ActivityOptions = {
    startToCloseTimeout: 60_000,
    retry: { ...retryDelays, nonRetryableErrorTypes },
  };
  const { millraceSubmit, millraceHear } = proxyActivities<MillraceActivities>(shortRunning);
  const { millraceAdvance } = proxyActivities<MillraceActivities>({
    ...{ startToCloseTimeout: requestTimeoutMs, heartbeatTimeout: heartbeatMs },
    retry: { ...retryDelays, nonRetryableErrorTypes },
  });
  const forModel = { ...longRunning, startToCloseTimeout: requestTimeoutMs };
  const { millraceRequest, millraceAutoSend } = proxyActivities<MillraceActivities>(forModel);
  const forTool = { ...longRunning, startToCloseTimeout: callTimeoutMs };
  const { millraceCall } = proxyActivities<MillraceActivities>(forTool);
  const longActivities = { millraceRequest, millraceCall, millraceAutoSend };
  return { millraceSubmit, millraceHear, millraceAdvance, ...longActivities };
}

/** Ignores the failure of an activity whose lease was lost, and rethrows any other failure. */
export function ignoreFenced(error: unknown): undefined {
  if (failureType(error) !== 'millrace.fenced') throw error;
}

/**
 * Returns the failure that ends a workflow whose session was deleted. The workflow must not continue in a
 * new conversation.
 */
export function sessionDeleted(session: string): ApplicationFailure {
  const message = `Cannot continue session ${session}: it was deleted while its workflow ran`;
  return ApplicationFailure.nonRetryable(message, 'millrace.no_session');
}

/** Returns the failure type that retry policies use. */
export function failureType(error: unknown): string | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) return cause.type ?? undefined;
  return cause instanceof Error ? cause.name : undefined;
}

/**
 * Maximum size of an activity's input, in bytes. Temporal accepts at most 2 MiB. A workflow that passes a
 * larger input would fail and retry forever.
 */
const maxBytes = 1_500_000;

/** Throws if a value is too large for an activity, before Temporal rejects it. */
export function assertPayloadSize<T>(what: string, value: T): T {
  const { length } = new TextEncoder().encode(JSON.stringify(value));
  if (length <= maxBytes) return value;
  const message = `Cannot pass ${what} to an activity: its JSON has ${length} bytes, but the limit is ${maxBytes}. Write it with submitCommand(…) of @millrace/agent and signal wake instead`;
  throw ApplicationFailure.nonRetryable(message, 'millrace.too_large');
}
