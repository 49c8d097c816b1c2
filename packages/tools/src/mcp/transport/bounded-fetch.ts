/** A function like `fetch`, for addresses. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` that limits the size of responses. In an event stream, the limit applies to each event. A
 * larger response ends with an error.
 */
export function boundedFetch(fetch: Fetch, maxBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { body, headers, status, statusText } = response;
    // The body of a redirect is not read.
    if (body === null || (status >= 300 && status < 400)) return response;
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
    const bounded = body.pipeThrough(boundedBytes(maxBytes, isStream));
    return new Response(bounded, { status, statusText, headers });
  };
}

function boundedBytes(
  maxBytes: number,
  isStream: boolean,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const count = isStream ? longestEvent() : total();
  return new TransformStream({
    transform(chunk, controller) {
      if (count(chunk) > maxBytes) controller.error(tooLongError(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

type Count = (chunk: Uint8Array) => number;

function total(): Count {
  let length = 0;
  return (chunk) => {
    length += chunk.length;
    return length;
  };
}

const lineFeed = 10;
const carriageReturn = 13;

/**
 * Returns a function that measures events. For each chunk, it returns the size of the longest event that
 * overlaps the chunk. An empty line ends an event.
 */
function longestEvent(): Count {
  let length = 0;
  let isLineEmpty = true;
  let previous = 0;
  return (chunk) => {
    let longest = length;
    for (const byte of chunk) {
      longest = Math.max(longest, ++length);
      const isSecondHalf = byte === lineFeed && previous === carriageReturn;
      previous = byte;
      if (isSecondHalf) continue;
      const isLineEnd = byte === lineFeed || byte === carriageReturn;
      if (isLineEnd && isLineEmpty) length = 0;
      isLineEmpty = isLineEnd;
    }
    return longest;
  };
}

function tooLongError(maxBytes: number): RangeError {
  return new RangeError(`It sent a message of more than ${maxBytes} bytes (maxMessageBytes)`);
}
