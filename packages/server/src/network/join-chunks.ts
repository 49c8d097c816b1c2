import type { IncomingMessage } from 'node:http';
import { ByteCollector } from '@millrace/core';

/** The number of small chunks of each message since the last call of `takeSmallChunks`. */
const counts = new WeakMap<IncomingMessage, { chunks: number }>();

/** Returns how many small chunks of a message arrived since the last call. */
export function takeSmallChunks(message: IncomingMessage): number {
  const count = counts.get(message);
  const chunks = count?.chunks ?? 0;
  if (count !== undefined) count.chunks = 0;
  return chunks;
}

/** Smaller chunks are joined. */
const minChunkBytes = 1024;

/**
 * Joins the small chunks of a body before they wait in the buffer of the message. Node makes a buffer of about 200
 * bytes for each chunk, and its limit counts only the content. A peer that sends chunks of one byte could otherwise
 * use 13 MB for the 64 KiB that a message can hold. Only messages with `transfer-encoding` have such chunks.
 */
export function joinSmallChunks(message: IncomingMessage): void {
  if (message.headers['transfer-encoding'] === undefined) return;
  const count = { chunks: 0 };
  counts.set(message, count);
  const push = message.push.bind(message);
  let first: Uint8Array | undefined;
  let others: ByteCollector | undefined;
  let isScheduled = false;
  const flush = () => {
    isScheduled = false;
    const bytes = others?.toBytes() ?? first;
    first = undefined;
    others = undefined;
    if (bytes !== undefined && !message.destroyed) push(bytes);
  };
  message.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (message.destroyed) return false;
    const isSmall = chunk instanceof Uint8Array && chunk.length < minChunkBytes;
    if (!isSmall) {
      flush();
      return push(chunk, encoding);
    }
    count.chunks++;
    if (first === undefined) first = chunk;
    else {
      if (others === undefined) {
        others = new ByteCollector();
        others.add(first);
      }
      others.add(chunk);
    }
    if (!isScheduled) process.nextTick(flush);
    isScheduled = true;
    const held = others?.length ?? chunk.length;
    return message.readableLength + held < message.readableHighWaterMark;
  };
}
