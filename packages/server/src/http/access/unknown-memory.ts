import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { maxHeaderFields } from '../http-limits.ts';

/**
 * Maximum memory, in bytes, of the requests on all connections whose callers the server has not accepted. It is
 * enough for a usual request on each of 10,000 connections.
 */
const maxUnknownBytes = 64 * 2 ** 20;

/**
 * Limits the memory of clients that the server has not accepted: heads and bodies that have not arrived completely,
 * and requests that are not answered. Node keeps a request until its body is complete, also if it is refused. A
 * limit for each connection would not be enough, because a client without a token can open thousands of them.
 *
 * Above the limit, the connection that has held memory for the longest time is closed. A client without a token
 * therefore cannot use up the memory for the others.
 */
export class UnknownMemory {
  /** The memory of each connection that holds some. The connection that began first comes first. */
  readonly #held = new Map<Socket, number>();
  #bytes = 0;

  /** Sets the memory that a connection holds now. */
  set(socket: Socket, bytes: number): void {
    this.#put(socket, socket.destroyed ? 0 : bytes);
    while (this.#bytes > maxUnknownBytes) {
      const [first] = this.#held.keys();
      if (first === undefined) return;
      this.#put(first, 0);
      first.destroy();
    }
  }

  #put(socket: Socket, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(socket) ?? 0);
    if (bytes > 0) this.#held.set(socket, bytes);
    else this.#held.delete(socket);
  }
}

/** Estimated memory of a request: its objects, and each header field in addition to its text. */
const requestBytes = 2048;
const fieldBytes = 140;

/** Returns the estimated memory of a request without its body, in bytes. */
export function headMemory({ url = '', rawHeaders }: IncomingMessage): number {
  const texts = rawHeaders.reduce((sum, text) => sum + text.length, url.length);
  return requestBytes + (rawHeaders.length / 2) * fieldBytes + texts;
}

/** The length of the shortest header field. */
const minFieldLength = 'a:b\r\n'.length;

/** Returns the estimated memory of a head of which only some bytes have arrived. */
export function openHeadMemory(bytes: number): number {
  // Node keeps at most this many fields of a head.
  const fields = Math.min(2 * maxHeaderFields, Math.floor(bytes / minFieldLength));
  return bytes + fields * fieldBytes;
}

/** Returns how many bytes of the body of a request Node holds at most before the body is read. */
export function bodyMemory({ headers, readableHighWaterMark }: IncomingMessage): number {
  const isChunked = headers['transfer-encoding'] !== undefined;
  const length = isChunked ? readableHighWaterMark : Number(headers['content-length'] ?? 0);
  return Math.min(length, readableHighWaterMark);
}
