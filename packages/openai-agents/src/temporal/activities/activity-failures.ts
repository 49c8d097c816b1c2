import { type HeartbeatSignals, withHeartbeat } from '@millrace/temporal/activities';
import { AgentsError } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/activity';
import { maxJsonBytes, utf8Length } from '../contract/agents-activities.ts';

/**
 * Runs long work with heartbeats. Errors of the SDK become non-retryable failures, because a retry
 * would fail again.
 */
export function withSdkFailures<T>(work: (signals: HeartbeatSignals) => Promise<T>): Promise<T> {
  return withHeartbeat(async (signals) => {
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

/** Returns the value. Throws if it is too large for the workflow history. */
export function assertPayloadSize<T>(what: string, value: T): T {
  const bytes = utf8Length(JSON.stringify(value));
  if (bytes <= maxJsonBytes) return value;
  throw ApplicationFailure.nonRetryable(
    `Cannot return ${what} to the workflow: its JSON has ${bytes} bytes, but the limit is ${maxJsonBytes}. It is on the log; shorten the history or the tool results`,
    'millrace.too_large',
  );
}
