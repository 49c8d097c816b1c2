/** A body that a test hands out piece by piece. */
interface ControlledBody {
  /** Resolves when the reader has taken all that was sent and waits for more. */
  waitForRead(): Promise<void>;
  send(text: string): void;
  end(): void;
  fail(error: unknown): void;
  readonly isCancelled: boolean;
  /** Answers any request with it, and does not mind signals. */
  readonly fetch: typeof fetch;
}

export function createControlledBody(init: ResponseInit = {}): ControlledBody {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let readRequested = Promise.withResolvers<void>();
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
      },
      pull: () => readRequested.resolve(),
      cancel: () => {
        isCancelled = true;
      },
    },
    // Nothing is asked for ahead, so that being asked means that somebody waits.
    { highWaterMark: 0 },
  );
  return {
    waitForRead: () => readRequested.promise,
    send: (text) => {
      readRequested = Promise.withResolvers<void>();
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
