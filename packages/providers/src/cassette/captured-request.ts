import { secretsOf } from '../errors/redactor.ts';
import { concatBytes } from './bytes.ts';
import type { RecordedRequest } from './cassette.ts';
import { redactHeaders, redactUrl, secretParameters } from './redact/redact-http.ts';
import type { Redactor } from './redact/redactor.ts';

type FetchInput = Parameters<typeof fetch>[0];
type FetchInit = Parameters<typeof fetch>[1];

/** A request with a copy of its body. The original body can still be sent. */
export interface CapturedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  readonly copy: BodyCopy;
  /**
   * The arguments for the real fetch. If the body can be read only once, it is split in two with `tee`, and
   * these arguments contain one of the two streams.
   */
  readonly send: readonly [FetchInput, FetchInit];
}

export function captureRequest(
  input: FetchInput,
  init: FetchInit,
  budget: ByteBudget,
): CapturedRequest {
  const request = isRequest(input) ? input : undefined;
  const { copied, send } = forkBody(input, init);
  return {
    method: (init?.method ?? request?.method ?? 'GET').toUpperCase(),
    url: request?.url ?? String(input),
    headers: new Headers(init?.headers ?? request?.headers),
    signal: init?.signal ?? request?.signal,
    copy: copied === null ? emptyBody : copyBody(copied, budget),
    send,
  };
}

/**
 * Returns whether the input is a Request. It checks the shape, because a custom fetch may use a different
 * Request class.
 */
function isRequest(input: FetchInput): input is Request {
  return typeof input === 'object' && 'url' in input;
}

interface ForkedBody {
  readonly copied: ReadableStream<Uint8Array> | null;
  readonly send: readonly [FetchInput, FetchInit];
}

function forkBody(input: FetchInput, init: FetchInit): ForkedBody {
  const body = init?.body;
  const same = [input, init] as const;
  if (body === undefined || body === null) {
    const hasBody = isRequest(input) && input.body !== null && !input.bodyUsed;
    return { copied: hasBody ? input.clone().body : null, send: same };
  }
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) {
    return { copied: new Response(body).body, send: same };
  }
  // A ReadableStream is used directly. A wrapper around it could not be cancelled while a read is pending.
  const stream = body instanceof ReadableStream ? body : streamOf(body);
  const [copied, sent] = stream.tee();
  return { copied, send: [input, { ...init, body: sent }] };
}

/**
 * Converts an iterable of any other type to a stream. Only Node's fetch accepts such a body, and Node has
 * `ReadableStream.from`.
 */
function streamOf(body: unknown): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { from } = ReadableStream as unknown as {
    readonly from: (body: unknown) => ReadableStream<Uint8Array<ArrayBuffer>>;
  };
  return from.call(ReadableStream, body);
}

/** Returns a redactor that also removes the secrets in the headers and the URL of a request. */
export function redactorOf({ url, headers }: CapturedRequest, redactor: Redactor): Redactor {
  const secrets = secretParameters(url);
  const found = secretsOf({ url: '', headers: Object.fromEntries(headers), secrets });
  return found.length === 0 ? redactor : redactor.with(found);
}

/** Converts a request to its recorded form, without secrets. A replay compares requests in this form. */
export async function toRecordedRequest(
  { method, url, headers, copy }: CapturedRequest,
  redactor: Redactor,
): Promise<RecordedRequest> {
  const { bytes, isClipped } = await copy.body;
  return {
    method,
    url: redactUrl(url, redactor),
    headers: redactHeaders(headers, redactor),
    ...(bytes === undefined ? {} : { body: redactor.bytes(bytes) }),
    ...(isClipped === undefined ? {} : { isBodyClipped: isClipped }),
  };
}

/**
 * A limited number of bytes, optionally within a parent budget. `take` reduces both budgets. If one of them
 * is too small, `take` reduces neither.
 */
export class ByteBudget {
  #remaining: number;
  readonly #parent: ByteBudget | undefined;

  constructor(bytes: number, parent?: ByteBudget) {
    this.#remaining = bytes;
    this.#parent = parent;
  }

  get remaining(): number {
    return Math.min(this.#remaining, this.#parent?.remaining ?? this.#remaining);
  }

  take(bytes: number): boolean {
    if (bytes > this.remaining) return false;
    this.#remaining -= bytes;
    this.#parent?.take(bytes);
    return true;
  }
}

interface BodyCopy {
  readonly body: Promise<CopiedBody>;
  /** Stops reading. If the body is not complete at this point, it counts as clipped. */
  stop(): void;
}

interface CopiedBody {
  readonly bytes?: Uint8Array;
  /** True if the body was larger than the budget, or could not be read to its end. */
  readonly isClipped?: true;
}

const emptyBody: BodyCopy = { body: Promise.resolve({}), stop: () => {} };

function copyBody(stream: ReadableStream<Uint8Array>, budget: ByteBudget): BodyCopy {
  const reader = stream.getReader();
  let isStopped = false;

  function stop(): void {
    isStopped = true;
    // The promise is not awaited. After a `tee`, cancelling one stream resolves only when the other stream is
    // cancelled too.
    reader.cancel().catch(() => {});
  }

  async function readAll(): Promise<CopiedBody> {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (isStopped) return { isClipped: true };
      if (done) return { bytes: concatBytes(chunks) };
      if (budget.take(value.length)) chunks.push(value);
      else stop();
    }
  }

  // If reading the copy fails, reading the original fails too, and the caller receives that error.
  return { body: readAll().catch(() => ({ isClipped: true })), stop };
}
