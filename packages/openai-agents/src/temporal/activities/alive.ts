import { type LivingSignals, living } from '@millrace/temporal/activities';
import { AgentsError } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/activity';

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
