import { ApplicationFailure } from '@temporalio/activity';
import { maxJsonLength } from '../contract/agents-activities.ts';

/** What an activity gives back goes into history, which takes no more than so much. */
export function smallEnough<T>(what: string, value: T): T {
  const { length } = JSON.stringify(value);
  if (length <= maxJsonLength) return value;
  throw ApplicationFailure.nonRetryable(
    `Cannot give ${what} to the workflow: its JSON has ${length} characters, and ${maxJsonLength} is the most. It is on the log; give the model less, or shorten what tools return`,
    'millrace.too_large',
  );
}
