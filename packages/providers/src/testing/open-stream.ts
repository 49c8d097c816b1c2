import { countingIds } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamStep } from '../contract/provider.ts';

/** A stream that a test reads step by step. */
interface OpenStream {
  /** The next step; undefined after the last. From the call on, the provider is at work. */
  next(): Promise<StreamStep | undefined>;
  /** All that is left. */
  rest(): Promise<readonly StreamStep[]>;
  /** What `break` does. */
  close(): Promise<void>;
}

export function openStream(
  { stream }: Provider,
  signal?: AbortSignal,
  request: ModelRequest = { items: [] },
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
