export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly url: string;
  readonly redirected: boolean;
  readonly type: Response['type'];
}

/** A response with this head and another body: also what the constructor has no way to say. */
export function responseLike(head: ResponseHead, body: ReadableStream | null): Response {
  const { status, statusText, headers, url, redirected, type } = head;
  const isUsual = status >= 200 && status <= 599;
  const response = new Response(body, { status: isUsual ? status : 200, statusText, headers });
  const rest = { url, redirected, type, ...(isUsual ? {} : { status, ok: false }) };
  for (const [name, value] of Object.entries(rest))
    Object.defineProperty(response, name, { value });
  return response;
}
