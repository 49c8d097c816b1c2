/** A request that a test answers. */
export class FakeRequest {
  readonly url: URL;
  readonly init: RequestInit;
  readonly #answer: PromiseWithResolvers<Response>;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(url: URL, init: RequestInit, answer: PromiseWithResolvers<Response>) {
    this.url = url;
    this.init = init;
    this.#answer = answer;
    init.signal?.addEventListener('abort', () => this.break(init.signal?.reason));
  }

  /** The offset that the client requested. Null means from the start. */
  get from(): string | null {
    return this.url.searchParams.get('from');
  }

  get headers(): Headers {
    return new Headers(this.init.headers);
  }

  get isLeft(): boolean {
    return this.init.signal?.aborted === true;
  }

  /** Answers with an event stream that stays open until the test ends it. */
  open(
    text = '',
    type = 'text/event-stream; charset=utf-8',
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = controller;
      },
    });
    this.#answer.resolve(new Response(body, { headers: { 'content-type': type, ...headers } }));
    if (text !== '') this.push(text);
  }

  push(text: string): void {
    this.#stream?.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    this.#stream?.close();
    this.#stream = undefined;
  }

  /** Breaks the connection, before or during the response. */
  break(reason: unknown = new TypeError('terminated')): void {
    this.#answer.reject(reason);
    this.#stream?.error(reason);
    this.#stream = undefined;
  }

  json(value: unknown, status = 200, headers: Record<string, string> = {}): void {
    this.#answer.resolve(Response.json(value, { status, headers }));
  }
}

/** Replaces the network. A test answers each request. */
export class FakeServer {
  readonly requests: FakeRequest[] = [];
  readonly #waiting: ((request: FakeRequest) => void)[] = [];
  #heard = 0;

  readonly fetch = (url: URL, init: RequestInit): Promise<Response> => {
    const answer = Promise.withResolvers<Response>();
    answer.promise.catch(() => {});
    const request = new FakeRequest(url, init, answer);
    this.requests.push(request);
    this.#waiting.shift()?.(request);
    return answer.promise;
  };

  /** Resolves with the next request. */
  next(): Promise<FakeRequest> {
    const request = this.requests[this.#heard++];
    if (request !== undefined) return Promise.resolve(request);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
