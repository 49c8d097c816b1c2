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

/** Ends it, also for a reader that brought its own buffer and waits for it to be filled. */
export function closeBytes(controller: ByteController): void {
  controller.close();
  if ('byobRequest' in controller) controller.byobRequest?.respond(0);
}

export type ByteController = ReadableByteStreamController | ReadableStreamDefaultController;

/** May its readers bring buffers of their own? */
export function isByteStream(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

/** Calls back when everybody else had their turn; what it gives takes it back. */
export function macrotask(run: () => void): () => void {
  // Where there is setImmediate, because a timer of 0 ms takes one: 20,000 chunks would take 20 s.
  if (typeof setImmediate === 'function') {
    const task = setImmediate(run);
    return () => clearImmediate(task);
  }
  const timer = setTimeout(run, 0);
  return () => clearTimeout(timer);
}
