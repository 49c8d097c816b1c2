import type { StreamStep } from '@millrace/providers';

/** Where a model's answer goes besides the SDK, as it comes. */
export interface TurnStream {
  /**
   * Takes the steps of one answer. Rejects where they cannot be kept, and where the answer failed.
   * `handoffs` are the names of the calls that hand over to another agent.
   */
  send(steps: AsyncIterable<StreamStep>, handoffs: ReadonlySet<string>): Promise<void>;
}
