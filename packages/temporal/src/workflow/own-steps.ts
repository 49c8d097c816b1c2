import { sleep, workflowInfo } from '@temporalio/workflow';
import type { OwnerInput } from '../contract/activities.ts';
import { typeOf } from './failure-type.ts';

/** The steps of a workflow, counted: a later one fences what is left of an earlier one. */
export class OwnSteps {
  #count: number;

  constructor(count = 0) {
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }

  /** A workflow that was reset counts anew, and has to come after what it did before. */
  async next<T>(work: (owner: OwnerInput) => Promise<T>): Promise<T> {
    const { workflowId, firstExecutionRunId: life } = workflowInfo();
    for (let tries = 0; ; tries++) {
      try {
        const step = ++this.#count;
        return await work({ owner: `temporal workflow ${workflowId}`, life, step });
      } catch (error) {
        if (typeOf(error) !== 'millrace.fenced') throw error;
        this.#count *= 2;
        await sleep(Math.min(30_000, 200 * 2 ** tries));
      }
    }
  }
}
