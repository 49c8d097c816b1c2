import { ApplicationFailure } from '@temporalio/activity';
import { bytesOf, maxJsonBytes } from '../contract/agents-activities.ts';

/** What an activity gives back goes into history, which takes no more than so much. */
export function smallEnough<T>(what: string, value: T): T {
  const bytes = bytesOf(JSON.stringify(value));
  if (bytes <= maxJsonBytes) return value;
  throw ApplicationFailure.nonRetryable(
    `Cannot give ${what} to the workflow: its JSON has ${bytes} bytes, and ${maxJsonBytes} is the most. It is on the log; give the model less, or shorten what tools return`,
    'millrace.too_large',
  );
}
