import { createProvider } from './create-provider.ts';
import type { ModelRequest } from './model-request.ts';
import type { Provider, Stream, StreamContext, StreamStep } from './provider.ts';

/** What stands before a provider: it may ask the next one, watch, change, or answer by itself. */
export type Wrapper = (
  request: ModelRequest,
  context: StreamContext,
  next: Stream,
) => AsyncIterable<StreamStep>;

/**
 * The same provider with something in between: a meter, a cache, a change of the request or of what
 * streams.
 *
 * @example
 * const metered = wrapProvider(provider, async function* (request, context, next) {
 *   for await (const step of next(request, context)) {
 *     if (step.end) console.log(step.end.usage.output, 'tokens');
 *     yield step;
 *   }
 * });
 */
export function wrapProvider(provider: Provider, wrapper: Wrapper): Provider {
  return createProvider(provider.id, provider.model, (request, context) =>
    wrapper(request, context, provider.stream),
  );
}
