import { macrotaskSource } from './floor.ts';

/** Where no provider is: a contestant that got past the injected fetch would fail. */
export const baseUrl = 'https://provider.invalid/v1';

/** Answers every request with the same stream, one macrotask a read, so that nobody can hide. */
export function fetchOf(reads: readonly Uint8Array[]): typeof fetch {
  return async () =>
    new Response(bodyOf(reads), { headers: { 'content-type': 'text/event-stream' } });
}

/** For those who take no fetch of ours: the global one, for as long as `run` takes. */
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
