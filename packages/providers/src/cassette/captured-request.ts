import { concatBytes } from './bytes.ts';
import type { RecordedRequest } from './cassette.ts';
import { keepHeaders, redactUrl } from './redact/redact-http.ts';
import type { Redactor } from './redact/redactor.ts';

type FetchInput = Parameters<typeof fetch>[0];
type FetchInit = Parameters<typeof fetch>[1];

/** A request as it was made, and a copy of its body that leaves the original to be sent. */
export interface TappedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  readonly copy: BodyCopy;
  /** What to call fetch with now: a body that can be read only once has been forked. */
  readonly send: readonly [FetchInput, FetchInit];
}

export function tapRequest(input: FetchInput, init: FetchInit, room: Room): TappedRequest {
  const request = isRequest(input) ? input : undefined;
  const { copied, send } = fork(input, init);
  return {
    method: (init?.method ?? request?.method ?? 'GET').toUpperCase(),
    url: request?.url ?? String(input),
    headers: new Headers(init?.headers ?? request?.headers),
    signal: init?.signal ?? request?.signal,
    copy: copied === null ? noBody : copyBody(copied, room),
    send,
  };
}

/** By its shape, because a fetch of one's own may come with a Request of its own. */
function isRequest(input: FetchInput): input is Request {
  return typeof input === 'object' && 'url' in input;
}

interface Fork {
  readonly copied: ReadableStream<Uint8Array> | null;
  readonly send: readonly [FetchInput, FetchInit];
}

function fork(input: FetchInput, init: FetchInit): Fork {
  const body = init?.body;
  const same = [input, init] as const;
  if (body === undefined || body === null) {
    const isFull = isRequest(input) && input.body !== null && !input.bodyUsed;
    return { copied: isFull ? input.clone().body : null, send: same };
  }
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) {
    return { copied: new Response(body).body, send: same };
  }
  // A stream is not made anew from itself: that would not be cancelled while a read goes on.
  const stream = body instanceof ReadableStream ? body : ReadableStream.from(body);
  const [copied, sent] = stream.tee();
  return { copied, send: [input, { ...init, body: sent }] };
}

/** A request as a cassette has it, which is also the form in which requests are compared. */
export async function describeRequest(
  { method, url, headers, copy }: TappedRequest,
  redactor: Redactor,
): Promise<RecordedRequest> {
  const { bytes, isClipped } = await copy.body;
  return {
    method,
    url: redactUrl(url, redactor),
    headers: keepHeaders(headers, redactor),
    ...(bytes === undefined ? {} : { body: redactor.bytes(bytes) }),
    ...(isClipped === undefined ? {} : { isBodyClipped: isClipped }),
  };
}

/** Room for bytes, within a larger room: taken from both or from none. */
export class Room {
  #left: number;
  readonly #around: Room | undefined;

  constructor(bytes: number, around?: Room) {
    this.#left = bytes;
    this.#around = around;
  }

  get left(): number {
    return Math.min(this.#left, this.#around?.left ?? this.#left);
  }

  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.#left -= bytes;
    this.#around?.take(bytes);
    return true;
  }
}

interface BodyCopy {
  readonly body: Promise<CopiedBody>;
  /** Reads no further: what has not come by now is clipped. */
  stop(): void;
}

interface CopiedBody {
  readonly bytes?: Uint8Array;
  /** There was more than there is room for, or it could not be read to its end. */
  readonly isClipped?: true;
}

const noBody: BodyCopy = { body: Promise.resolve({}), stop: () => {} };

function copyBody(stream: ReadableStream<Uint8Array>, room: Room): BodyCopy {
  const reader = stream.getReader();
  let isStopped = false;

  function stop(): void {
    isStopped = true;
    // Not awaited: one branch of a fork counts as cancelled only when the other one is.
    reader.cancel().catch(() => {});
  }

  async function readAll(): Promise<CopiedBody> {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (isStopped) return { isClipped: true };
      if (done) return { bytes: concatBytes(chunks) };
      if (room.take(value.length)) chunks.push(value);
      else stop();
    }
  }

  // Where it cannot be read the original fails too, and its caller hears of it there.
  return { body: readAll().catch(() => ({ isClipped: true })), stop };
}
