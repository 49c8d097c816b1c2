import type { ServerResponse } from 'node:http';

/** An answer that is more than its value. */
export class Reply {
  readonly body: unknown;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    body: unknown,
    options: {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    this.body = body;
    this.status = options.status;
    this.headers = options.headers ?? {};
  }
}

/** An answer that writes itself, for as long as it takes. */
export class StreamReply {
  readonly write: (response: ServerResponse) => Promise<void>;

  constructor(write: (response: ServerResponse) => Promise<void>) {
    this.write = write;
  }
}
