import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
} from '@temporalio/workflow';
import { type AgentsActivities, maxJsonBytes, utf8Length } from '../contract/agents-activities.ts';

/** Timeouts and attempts of activities. */
export interface ActivityTimeouts {
  /** The time without a heartbeat after which a worker counts as dead, in milliseconds. Default: 30 s. */
  readonly heartbeatMs?: number | undefined;
  /** The timeout of one answer with its retries, or of one call, in milliseconds. Default: 1 h. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of attempts of an activity whose worker died or timed out. Default: 10. */
  readonly maxAttempts?: number | undefined;
}

/**
 * Errors after which a retry of the activity cannot succeed. For example, after a lost lease, the workflow
 * must first take the lease again.
 */
const nonRetryableErrorTypes = ['fenced', 'bad_option', 'aborted', 'no_session'].map(
  (code) => `millrace.${code}`,
);

export function activitiesFor(times: ActivityTimeouts): AgentsActivities {
  const { heartbeatMs = 30_000, timeoutMs = 3_600_000, maxAttempts: maximumAttempts = 10 } = times;
  return proxyActivities<AgentsActivities>({
    ...{ heartbeatTimeout: heartbeatMs, startToCloseTimeout: timeoutMs },
    // The workflow waits until the partial output of a cancelled activity is stored.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: 200,
      maximumInterval: 30_000,
      maximumAttempts,
      nonRetryableErrorTypes,
    },
  });
}

/** Returns the type of the failure that ended an activity. */
export function failureType(error: unknown): string | undefined {
  const { cause } = error instanceof ActivityFailure ? error : {};
  return cause instanceof ApplicationFailure ? (cause.type ?? undefined) : undefined;
}

/**
 * Returns a copy of the value as plain data, without signals and functions. Throws if it is too large.
 */
export function toPayload<T>(what: string, value: T): T {
  const json = JSON.stringify(value);
  const bytes = utf8Length(json);
  if (bytes <= maxJsonBytes) return JSON.parse(json) as T;
  throw ApplicationFailure.nonRetryable(
    `Cannot pass ${what} to an activity: its JSON has ${bytes} bytes, but the limit is ${maxJsonBytes}. Shorten the history, for instance with a callModelInputFilter`,
    'millrace.too_large',
  );
}
