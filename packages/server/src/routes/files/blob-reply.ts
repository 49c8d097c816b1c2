import type { BlobStore } from '@millrace/log';
import type { HttpResponse } from '../../contract/http.ts';
import { StreamReply } from '../../http/route.ts';

/** The number of bytes per read from the store. */
const sliceBytes = 2 ** 20;

interface BlobReplyOptions {
  readonly blobs: Pick<BlobStore, 'slice'>;
  readonly hash: string;
  readonly length: number;
  /**
   * The header `range` of the request. The server ignores it if it has several ranges or a unit other than
   * bytes.
   */
  readonly range: string | undefined;
  /** The header `if-range`. The server ignores the range if this is not the etag of the blob. */
  readonly ifRange: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Waits until the client has read what was written. */
  readonly drained: (response: HttpResponse) => Promise<void>;
}

/**
 * Streams a blob or a range of a blob. It keeps one slice in memory, and reads the next slice after the
 * client has received the previous one. Returns undefined if the blob does not exist.
 */
export async function blobReply(options: BlobReplyOptions): Promise<StreamReply | undefined> {
  const { blobs, hash, length, range, ifRange } = options;
  const etag = `"${hash}"`;
  const isUsed = range !== undefined && (ifRange === undefined || ifRange === etag);
  const asked = isUsed ? parseRange(range, length) : undefined;
  const headers = { ...options.headers, etag, 'accept-ranges': 'bytes' };
  if (asked === 'unsatisfiable')
    return new StreamReply(async (response) => {
      const whole = { 'content-range': `bytes */${length}`, 'content-length': 0 };
      response.writeHead(416, { ...headers, ...whole });
      response.end();
    });
  const { start, end } = asked ?? { start: 0, end: length };
  // The first slice is read before the headers are sent. If the blob is missing or unreadable, the response
  // can then still have an error status.
  const first = await blobs.slice(hash, start, Math.min(end, start + sliceBytes));
  if (first === undefined) return undefined;
  const part = asked && { 'content-range': `bytes ${start}-${end - 1}/${length}` };
  return new StreamReply(async (response) => {
    const head = { ...headers, ...part, 'content-length': end - start };
    response.writeHead(asked === undefined ? 200 : 206, head);
    let bytes: Uint8Array | undefined = first;
    for (let at = start; !response.destroyed; ) {
      const expected = Math.min(sliceBytes, end - at);
      // The error closes the connection, because the header `content-length` announced more bytes.
      if (bytes?.length !== expected) throw new Error(`the blob ${hash} ended at byte ${at}`);
      at += expected;
      if (at >= end) return void response.end(bytes);
      if (!response.write(bytes)) await options.drained(response);
      if (!response.destroyed) bytes = await blobs.slice(hash, at, Math.min(end, at + sliceBytes));
    }
  });
}

interface ByteRange {
  readonly start: number;
  /** The position after the last byte. */
  readonly end: number;
}

/** Parses `bytes=10-19`, `bytes=10-` and `bytes=-10`. Returns undefined if the text has no such form. */
function parseRange(text: string, length: number): ByteRange | 'unsatisfiable' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text.trim()) ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const start = Math.max(0, length - Number(to));
    return start < length ? { start, end: length } : 'unsatisfiable';
  }
  const start = Number(from);
  const end = to === '' ? length : Math.min(length, Number(to) + 1);
  if (to !== '' && Number(to) < start) return undefined;
  return start < length ? { start, end } : 'unsatisfiable';
}
