import { type Delta, type PartId, partId } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type {
  Provider,
  Stream,
  StreamContext,
  StreamItem,
  StreamStep,
} from '../contract/provider.ts';
import { abortOnReturn, withAbortSignal } from './abort-on-return.ts';
import { createProvider } from './create-provider.ts';

/** What stands before a provider: it may ask the next one, watch, change, or answer by itself. */
export type Wrapper = (
  request: ModelRequest,
  context: StreamContext,
  next: Stream,
) => AsyncIterable<StreamStep>;

/**
 * The same provider with something in between: a meter, a cache, a change of the request or of what
 * streams. A reader that leaves aborts the signal of the context, so hand it on.
 *
 * @example
 * const metered = wrapProvider(provider, async function* (request, context, next) {
 *   for await (const step of next(request, context)) {
 *     if (step.end) console.log(step.end.usage.output, 'tokens');
 *     yield step;
 *   }
 * });
 *
 * @example
 * // Steps name the item and attempt that they were streamed for: a cache moves them to the one at hand.
 * const cache = new Map<string, readonly StreamStep[]>();
 * const cached = wrapProvider(provider, async function* (request, context, next) {
 *   const key = JSON.stringify(request);
 *   const known = cache.get(key);
 *   if (known) return yield* moveSteps(known, context.item);
 *   const steps: StreamStep[] = [];
 *   for await (const step of next(request, context)) {
 *     steps.push(step);
 *     yield step;
 *   }
 *   if (!steps.at(-1)?.end?.error) cache.set(key, steps);
 * });
 */
export function wrapProvider(provider: Provider, wrapper: Wrapper): Provider {
  const { id, model, stream } = provider;
  return createProvider(id, model, (request, context) =>
    abortOnReturn((returned) => wrapper(request, withAbortSignal(context, returned), stream)),
  );
}

/**
 * Steps that were recorded, as if they had been streamed for this item and attempt: for a wrapper
 * that answers from a cache. Whatever they were recorded for, they fold to the same parts.
 */
export function moveSteps(steps: readonly StreamStep[], item: StreamItem): readonly StreamStep[] {
  return steps.map((step) => ({
    ...step,
    deltas: step.deltas.map((delta) => moveDelta(delta, item)),
  }));
}

/** The delta as if it had been written for this item and attempt. */
export function moveDelta(delta: Delta, item: StreamItem): Delta {
  if (delta.type === 'unknown') return delta;
  const moved = { ...delta, partId: movePartId(delta.partId, item) };
  return 'itemId' in moved ? { ...moved, itemId: item.id } : moved;
}

function movePartId(id: PartId, { turn, attempt }: StreamItem): PartId {
  const [, , ...name] = id.split('.');
  return partId(turn, attempt, name.join('.'));
}
