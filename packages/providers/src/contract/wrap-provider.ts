import { createProvider } from './create-provider.ts';
import { leavable } from './leavable.ts';
import type { ModelRequest } from './model-request.ts';
import type { Provider, Stream, StreamContext, StreamStep } from './provider.ts';
import { stoppedBy } from './stopped-by.ts';

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
    leavable((left) => wrapper(request, stoppedBy(context, left), stream)),
  );
}
