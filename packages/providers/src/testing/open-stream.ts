import { countingIds } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { helloItems } from './hello-items.ts';

/** A provider stream that a test reads step by step. */
interface OpenStream {
  /**
   * Returns the next step, or undefined after the last. The provider starts with the first call.
   */
  next(): Promise<StreamStep | undefined>;
  /** Reads all remaining steps. */
  rest(): Promise<readonly StreamStep[]>;
  /** Stops reading, as `break` in a loop does. */
  close(): Promise<void>;
}

export function openStream(
  { stream }: Provider,
  signal?: AbortSignal,
  request: ModelRequest = { items: helloItems },
): OpenStream {
  const ids = countingIds();
  const item = { id: ids.item(), turn: 1, attempt: 1 };
  const steps = stream(request, { item, ids, signal })[Symbol.asyncIterator]();
  const next = async () => (await steps.next()).value as StreamStep | undefined;
  return {
    next,
    rest: async () => {
      const left: StreamStep[] = [];
      for (let step = await next(); step !== undefined; step = await next()) left.push(step);
      return left;
    },
    close: async () => {
      await steps.return?.();
    },
  };
}
