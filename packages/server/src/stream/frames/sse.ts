import type { Frame } from '../../contract/stream.ts';

/** Proxies are told to keep nothing back, and nobody to keep or to compress anything. */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

const lineEnd = /\r\n|\r|\n/;
const lineEnds = /[\r\n]+/g;

/** The id comes first, which is what lets a stretch of frames be entered at one of them. */
export function encodeFrame({ id, event, data }: Frame): string {
  const head = `${id === undefined ? '' : `id: ${oneLine(id)}\n`}${event === undefined ? '' : `event: ${oneLine(event)}\n`}`;
  if (!hasLineEnd(data)) return `${head}data: ${data}\n\n`;
  const lines = data.split(lineEnd).map((line) => `data: ${line}\n`);
  return `${head}${lines.join('')}\n`;
}

/** Seen by nobody; keeps what is on the way from closing an idle connection. */
export function encodeComment(text: string): string {
  return `: ${oneLine(text)}\n\n`;
}

/** How long a reader waits before it comes back. */
export function encodeRetry(ms: number): string {
  return `retry: ${Math.max(0, Math.round(ms))}\n\n`;
}

/** Where in a stretch of frames the one after `id` begins, or -1. */
export function indexAfter(bytes: Buffer, id: string): number {
  const line = `id: ${id}\n`;
  const inner = bytes.subarray(0, line.length).equals(Buffer.from(line))
    ? 0
    : bytes.indexOf(`\n\n${line}`);
  if (inner < 0) return -1;
  const end = bytes.indexOf('\n\n', inner === 0 ? 0 : inner + 2);
  return end < 0 ? -1 : end + 2;
}

function hasLineEnd(text: string): boolean {
  return text.includes('\n') || text.includes('\r');
}

function oneLine(text: string): string {
  return hasLineEnd(text) ? text.replace(lineEnds, ' ') : text;
}
