import { complete } from './complete.ts';
import type { Provider, Stream } from './provider.ts';

/** A provider, of what streams. */
export function createProvider(
  id: string,
  model: string,
  stream: Stream,
  describe?: Provider['describe'],
): Provider {
  return {
    id,
    model,
    stream,
    complete: (request, options) => complete({ id, stream }, request, options),
    ...(describe && { describe }),
  };
}
