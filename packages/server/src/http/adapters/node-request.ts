import type { IncomingMessage } from 'node:http';
import { ByteCollector } from '@millrace/core';
import type { HttpRequest, OnBytes } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';
import { bodyTooLarge } from '../error-reply.ts';

/** A Node request, which a framework may have changed. */
type FrameworkRequest = IncomingMessage & {
  /**
   * The URL before the framework removed the path of its mount point. Express and similar frameworks set it.
   */
  readonly originalUrl?: unknown;
  /** The parsed body. Body parsers set it. */
  readonly body?: unknown;
};

/** Converts a Node request to the common form for all adapters. */
export function fromNodeRequest(source: IncomingMessage, basePath: string): HttpRequest {
  const { originalUrl, body } = source as FrameworkRequest;
  const { method = 'GET', headers, rawHeaders, socket } = source;
  const rawUrl = source.url ?? '';
  const url = basePath !== '' && typeof originalUrl === 'string' ? originalUrl : rawUrl;
  const length = headers['content-length'];
  const hasLength = length !== undefined && length !== '0';
  // If `body` is set, a body parser has already read the body. Some parsers set an empty object for a missing
  // body.
  const parsed = source.readableEnded && body !== undefined ? toBytes(body) : undefined;
  let headBytes = rawUrl.length;
  for (const text of rawHeaders) headBytes += text.length + 2;
  return {
    ...{ method, url, basePath, headers, headBytes, source },
    hasSeveralHosts: (source.headersDistinct['host']?.length ?? 0) > 1,
    hasBody: hasLength || headers['transfer-encoding'] !== undefined,
    address: socket.remoteAddress ?? 'unknown',
    readBody: async (maxBytes, signal, onBytes) => {
      if (parsed === undefined) return readStream(source, { maxBytes, onBytes }, signal);
      if (parsed.length > maxBytes) throw bodyTooLarge();
      onBytes?.(parsed.length);
      return parsed;
    },
  };
}

/** Returns the bytes of a body that the framework's parser has already read. */
function toBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

interface ReadLimits {
  readonly maxBytes: number;
  readonly onBytes?: OnBytes | undefined;
}

function readStream(
  source: IncomingMessage,
  { maxBytes, onBytes }: ReadLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  if (source.readableEnded) return Promise.resolve(Buffer.alloc(0));
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const body = new ByteCollector();
  const onData = (chunk: Buffer) => {
    if (body.length + chunk.length > maxBytes) return stop(bodyTooLarge());
    try {
      onBytes?.(chunk.length);
    } catch (error) {
      return stop(error);
    }
    body.add(chunk);
  };
  const stop = (error: unknown) => {
    source.off('data', onData);
    reject(error);
  };
  const onEnd = () => resolve(asBuffer(body.toBytes()));
  const onLost = () => reject(connectionLost());
  const onAbort = () => reject(signal.reason);
  source.on('data', onData);
  source.once('end', onEnd);
  source.on('error', onLost);
  source.once('close', onLost);
  signal.addEventListener('abort', onAbort);
  return promise.finally(() => {
    source.off('data', onData);
    source.off('end', onEnd);
    source.off('close', onLost);
    signal.removeEventListener('abort', onAbort);
    // Discards the rest of a refused body. The error listener stays, because the connection can still break.
    source.resume();
  });
}

/** Returns the same memory as a buffer. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Returns the error for a client that disconnected. It does not report a failure of the server. */
function connectionLost(): ServerError {
  const message = 'Cannot read the body: the connection closed before its end';
  return new ServerError('bad_request', message);
}
