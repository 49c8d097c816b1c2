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
import { providerOf } from './create-provider.ts';

/**
 * A function that replaces a provider's stream. It can call `next`, observe or change the request and the
 * steps, or produce the answer itself.
 */
export type ProviderWrapper = (
  request: ModelRequest,
  context: StreamContext,
  next: Stream,
) => AsyncIterable<StreamStep>;

/**
 * Puts a function between the caller and a provider. The function can, for example, measure usage, cache
 * answers, or change the request or the stream. Pass the context to `next`, because its signal is aborted
 * when the reader stops.
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
 * // Steps contain the ids of their item and attempt. A cache must rewrite them for the new item.
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
export function wrapProvider(provider: Provider, wrapper: ProviderWrapper): Provider {
  const { id, model, stream, info } = provider;
  return providerOf(
    id,
    model,
    (request, context) =>
      abortOnReturn((returned) => wrapper(request, withAbortSignal(context, returned), stream)),
    undefined,
    info,
  );
}

/**
 * Rewrites recorded steps for a different item and attempt. The parts of the item stay the same. Use it in a
 * wrapper that answers from a cache.
 */
export function moveSteps(steps: readonly StreamStep[], item: StreamItem): readonly StreamStep[] {
  return steps.map((step) => ({
    ...step,
    deltas: step.deltas.map((delta) => moveDelta(delta, item)),
  }));
}

/** Rewrites one delta for a different item and attempt. */
export function moveDelta(delta: Delta, item: StreamItem): Delta {
  if (delta.type === 'unknown') return delta;
  const moved = { ...delta, partId: movePartId(delta.partId, item) };
  return 'itemId' in moved ? { ...moved, itemId: item.id } : moved;
}

function movePartId(id: PartId, { turn, attempt }: StreamItem): PartId {
  const [, , ...name] = id.split('.');
  return partId(turn, attempt, name.join('.'));
}
