/** A body that a test hands out piece by piece. */
interface HeldBody {
  /** Resolves when the reader has taken all that was sent and waits for more. */
  wanted(): Promise<void>;
  send(text: string): void;
  end(): void;
  fail(error: unknown): void;
  readonly isCancelled: boolean;
  /** Answers any request with it, and does not mind signals. */
  readonly fetch: typeof fetch;
}

export function holdBody(init: ResponseInit = {}): HeldBody {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let want = Promise.withResolvers<void>();
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
      },
      pull: () => want.resolve(),
      cancel: () => {
        isCancelled = true;
      },
    },
    // Nothing is asked for ahead, so that being asked means that somebody waits.
    { highWaterMark: 0 },
  );
  return {
    wanted: () => want.promise,
    send: (text) => {
      want = Promise.withResolvers<void>();
      controller?.enqueue(new TextEncoder().encode(text));
    },
    end: () => controller?.close(),
    fail: (error) => controller?.error(error),
    get isCancelled() {
      return isCancelled;
    },
    fetch: async () => new Response(body, init),
  };
}
