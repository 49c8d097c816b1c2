import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
} from '@temporalio/workflow';
import { type AgentsActivities, bytesOf, maxJsonBytes } from '../contract/agents-activities.ts';

/** How long things may take. */
export interface ActivityTimes {
  /** A worker that says nothing for so long is taken for dead; 30 seconds unless told. */
  readonly heartbeatMs?: number | undefined;
  /** Of one answer with its retries, or of one call; an hour unless told. */
  readonly timeoutMs?: number | undefined;
  /** How often an activity is tried whose worker died or timed out; 10 times unless told. */
  readonly maxAttempts?: number | undefined;
}

/** Once the lease is another's, trying again is in vain: the workflow has to advance first. */
const nonRetryableErrorTypes = ['fenced', 'bad_option', 'aborted', 'no_session'].map(
  (code) => `millrace.${code}`,
);

export function activitiesFor(times: ActivityTimes): AgentsActivities {
  const { heartbeatMs = 30_000, timeoutMs = 3_600_000, maxAttempts: maximumAttempts = 10 } = times;
  return proxyActivities<AgentsActivities>({
    ...{ heartbeatTimeout: heartbeatMs, startToCloseTimeout: timeoutMs },
    // What was said until it stopped is kept before anything else is done.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: 200,
      maximumInterval: 30_000,
      maximumAttempts,
      nonRetryableErrorTypes,
    },
  });
}

/** The type of the failure that an activity ended with. */
export function typeOf(error: unknown): string | undefined {
  const { cause } = error instanceof ActivityFailure ? error : {};
  return cause instanceof ApplicationFailure ? (cause.type ?? undefined) : undefined;
}

/** As data: signals, functions and what else is none is left out. */
export function plain<T>(what: string, value: T): T {
  const json = JSON.stringify(value);
  const bytes = bytesOf(json);
  if (bytes <= maxJsonBytes) return JSON.parse(json) as T;
  throw ApplicationFailure.nonRetryable(
    `Cannot give ${what} to an activity: its JSON has ${bytes} bytes, and ${maxJsonBytes} is the most. Shorten the history, for instance with a callModelInputFilter`,
    'millrace.too_large',
  );
}
