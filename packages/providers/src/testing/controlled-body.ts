/** A response body whose content a test sends piece by piece. */
interface ControlledBody {
  /** Resolves when the reader has consumed everything and waits for more. */
  waitForRead(): Promise<void>;
  send(text: string): void;
  end(): void;
  fail(error: unknown): void;
  readonly isCancelled: boolean;
  /** Answers any request with this body and ignores abort signals. */
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
    // The stream does not read ahead, so a pull means that a reader is waiting.
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
