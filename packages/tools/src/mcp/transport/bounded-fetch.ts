import {
  longMessageLength,
  maxMessageValues,
  nextTurn,
  tooManyValuesError,
  ValueCounter,
} from './json-values.ts';

/** A function like `fetch`, for addresses. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` that limits the size of responses: their bytes and their JSON values. A larger response ends with
 * an error. In an event stream, the limits apply to each event. `isReadByEvent` returns whether the caller reads the response
 * event by event. If the caller reads the whole response at once, the limits apply to the whole response, whatever
 * type the server names. Default: the caller reads no events.
 */
export function boundedFetch(
  fetch: Fetch,
  maxBytes: number,
  isReadByEvent: (response: Response, init?: RequestInit) => boolean = () => false,
): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { body, headers, status, statusText } = response;
    if (body === null) return response;
    const isStream =
      headers.get('content-type')?.startsWith('text/event-stream') === true &&
      isReadByEvent(response, init);
    const bounded = body.pipeThrough(boundedBytes(maxBytes, isStream));
    return new Response(bounded, { status, statusText, headers });
  };
}

function boundedBytes(
  maxBytes: number,
  isStream: boolean,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const meter = new Meter(isStream);
  return new TransformStream({
    async transform(chunk, controller) {
      meter.read(chunk);
      if (meter.hasLongEvent) await nextTurn();
      if (meter.bytes > maxBytes) controller.error(tooLongError(maxBytes));
      else if (meter.values > maxMessageValues) controller.error(tooManyValuesError());
      else controller.enqueue(chunk);
    },
    async flush() {
      if (!isStream && meter.bytes > longMessageLength) await nextTurn();
    },
  });
}

const lineFeed = 10;
const carriageReturn = 13;

/** Measures a body. In an event stream, it measures each event. An empty line ends an event. */
class Meter {
  /** The number of bytes of the body, or of the longest event that overlaps the last chunk. */
  bytes = 0;
  /** The number of values of the body, or the largest number of values of an event. */
  values = 0;
  /** True if a long event of a stream ends in the last chunk. */
  hasLongEvent = false;
  readonly #isStream: boolean;
  #length = 0;
  #counter = new ValueCounter();
  #isLineEmpty = true;
  #previous = 0;

  constructor(isStream: boolean) {
    this.#isStream = isStream;
  }

  read(chunk: Uint8Array): void {
    this.bytes = this.#length;
    this.hasLongEvent = false;
    for (const byte of chunk) {
      this.#counter.read(byte);
      this.bytes = Math.max(this.bytes, ++this.#length);
      if (this.#isStream) this.#readOfStream(byte);
    }
    this.values = Math.max(this.values, this.#counter.count);
  }

  #readOfStream(byte: number): void {
    const isSecondHalf = byte === lineFeed && this.#previous === carriageReturn;
    this.#previous = byte;
    if (isSecondHalf) return;
    const isLineEnd = byte === lineFeed || byte === carriageReturn;
    if (isLineEnd && this.#isLineEmpty) {
      if (this.#length > longMessageLength) this.hasLongEvent = true;
      this.#length = 0;
      this.values = Math.max(this.values, this.#counter.count);
      this.#counter = new ValueCounter();
    }
    this.#isLineEmpty = isLineEnd;
  }
}

function tooLongError(maxBytes: number): RangeError {
  return new RangeError(`It sent a message of more than ${maxBytes} bytes (maxMessageBytes)`);
}
