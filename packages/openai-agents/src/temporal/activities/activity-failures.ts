import { type LivingSignals, living } from '@millrace/temporal/activities';
import { AgentsError } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/activity';
import { bytesOf, maxJsonBytes } from '../contract/agents-activities.ts';

/** Work that may be long. What the SDK refuses, it refuses again. */
export function alive<T>(work: (signals: LivingSignals) => Promise<T>): Promise<T> {
  return living(async (signals) => {
    try {
      return await work(signals);
    } catch (error) {
      if (!(error instanceof AgentsError)) throw error;
      const { message } = error;
      const type = error.constructor.name;
      throw ApplicationFailure.create({ message, type, nonRetryable: true, cause: error });
    }
  });
}

/** What an activity gives back goes into history, which takes no more than so much. */
export function smallEnough<T>(what: string, value: T): T {
  const bytes = bytesOf(JSON.stringify(value));
  if (bytes <= maxJsonBytes) return value;
  throw ApplicationFailure.nonRetryable(
    `Cannot give ${what} to the workflow: its JSON has ${bytes} bytes, and ${maxJsonBytes} is the most. It is on the log; give the model less, or shorten what tools return`,
    'millrace.too_large',
  );
}
