import type { Room } from '../cassette-limits.ts';
import { type BodyCopy, copyBody, noBody } from './copy-body.ts';

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
