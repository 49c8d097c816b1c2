/** A request that the fake fetch received. */
export interface SentRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/**
 * Returns a fetch that answers each request with the same bytes, one chunk per read. It stores the
 * requests.
 */
export function fetchOf(
  chunks: readonly (string | Uint8Array)[],
  init: ResponseInit = { headers: { 'content-type': 'text/event-stream' } },
): { readonly fetch: typeof fetch; readonly requests: readonly SentRequest[] } {
  const requests: SentRequest[] = [];
  const encoder = new TextEncoder();
  const answer: typeof fetch = async (input, sent) => {
    const body = JSON.parse(String(sent?.body ?? '{}')) as Record<string, unknown>;
    requests.push({ url: String(input), headers: new Headers(sent?.headers), body });
    const bytes = chunks.map((chunk) =>
      typeof chunk === 'string' ? encoder.encode(chunk) : chunk,
    );
    return new Response(ReadableStream.from(bytes), init);
  };
  return { fetch: answer, requests };
}

/** Formats JSON texts or values as server-sent events. */
export function sseOf(events: readonly (string | object)[], end = ''): string {
  const texts = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)));
  return `${texts.map((text) => `data: ${text}\n\n`).join('')}${end}`;
}
