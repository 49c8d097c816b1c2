import { ApplicationFailure } from '@temporalio/workflow';

/** Temporal takes no more than 2 MiB for an activity; a workflow that asks for more does not get on any more. */
const maxBytes = 1_500_000;

/** Refuses what is too large for an activity, before Temporal does. */
export function smallEnough<T>(what: string, value: T): T {
  const { length } = new TextEncoder().encode(JSON.stringify(value));
  if (length <= maxBytes) return value;
  const message = `Cannot give ${what} to an activity: its JSON has ${length} bytes, and ${maxBytes} is the most. Leave it on the log by log.submit(…), and signal wake`;
  throw ApplicationFailure.nonRetryable(message, 'millrace.too_large');
}
