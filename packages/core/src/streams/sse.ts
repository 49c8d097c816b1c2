/** One event of an SSE stream. */
export interface Frame {
  /**
   * `offset`, or `offset.k` for the k-th event of a record. A client cannot resume at a frame without an id.
   */
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  /** The data of the event, as one line of JSON. */
  readonly data: string;
}

/** Response headers of a stream. They disable buffering, caching and compression by proxies. */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

const lineEnd = /\r\n|\r|\n/;
const lineEnds = /[\r\n]+/g;

/**
 * Encodes a frame as SSE text. The id comes first, so that code can find a frame by its id in the
 * encoded bytes.
 */
export function encodeFrame(frame: Frame): string {
  return frameText(frame, '');
}

/**
 * Encodes frames as SSE text. `idEnd` is appended to each id, for example the incarnation of a
 * session.
 */
export function encodeFrames(frames: readonly Frame[], idEnd: string): string {
  let text = '';
  for (const frame of frames) text += frameText(frame, idEnd);
  return text;
}

function frameText({ id, event, data }: Frame, idEnd: string): string {
  const head = `${id === undefined ? '' : `id: ${oneLine(id)}${idEnd}\n`}${event === undefined ? '' : `event: ${oneLine(event)}\n`}`;
  if (!hasLineEnd(data)) return `${head}data: ${data}\n\n`;
  const lines = data.split(lineEnd).map((line) => `data: ${line}\n`);
  return `${head}${lines.join('')}\n`;
}

/**
 * Encodes an SSE comment. Comments keep idle connections open, and clients ignore them. No blank line follows
 * the comment. Some clients, such as the Python client of Agentex, expect an event at each blank line and
 * fail if the event has no data.
 */
export function encodeComment(text: string): string {
  return `: ${oneLine(text)}\n`;
}

/**
 * Encodes the time that a client waits before it reconnects. No blank line follows, so it becomes a line of
 * the next frame, like a comment.
 */
export function encodeRetry(ms: number): string {
  return `retry: ${Math.max(0, Math.round(ms))}\n`;
}

function hasLineEnd(text: string): boolean {
  return text.includes('\n') || text.includes('\r');
}

function oneLine(text: string): string {
  return hasLineEnd(text) ? text.replace(lineEnds, ' ') : text;
}
