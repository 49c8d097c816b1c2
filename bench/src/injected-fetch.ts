import { macrotaskSource } from './floor.ts';

/** An address without a server, so that a candidate that bypasses the injected fetch fails. */
export const baseUrl = 'https://provider.invalid/v1';

/**
 * Returns a fetch that answers every request with the same stream. There is one macrotask per read,
 * like on a network.
 */
export function fetchOf(reads: readonly Uint8Array[]): typeof fetch {
  return async () =>
    new Response(bodyOf(reads), { headers: { 'content-type': 'text/event-stream' } });
}

/** Replaces the global fetch during `run`, for libraries that do not accept a fetch option. */
export async function withGlobalFetch<Result>(
  injected: typeof fetch,
  run: () => Promise<Result>,
): Promise<Result> {
  const original = globalThis.fetch;
  globalThis.fetch = injected;
  try {
    return await run();
  } finally {
    globalThis.fetch = original;
  }
}

function bodyOf(reads: readonly Uint8Array[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const source = macrotaskSource(reads);
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await source.next();
        if (done === true) controller.close();
        else controller.enqueue(value as Uint8Array<ArrayBuffer>);
      },
    },
    { highWaterMark: 0 },
  );
}
