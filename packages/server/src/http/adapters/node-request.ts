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
  const isParsed = source.readableEnded && body !== undefined;
  let headBytes = rawUrl.length;
  let hosts = 0;
  // `headersDistinct` would make an array for each field, and Node keeps it as long as the request.
  for (const [at, text] of rawHeaders.entries()) {
    headBytes += text.length + 2;
    if (at % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host') hosts++;
  }
  return {
    ...{ method, url, basePath, headers, headBytes, source },
    headFields: rawHeaders.length / 2,
    hasSeveralHosts: hosts > 1,
    hasBody: hasLength || headers['transfer-encoding'] !== undefined,
    address: socket.remoteAddress ?? 'unknown',
    readBody: async (maxBytes, signal, onBytes) => {
      if (!isParsed) return readStream(source, { maxBytes, onBytes }, signal);
      const parsed = toBytes(body);
      if (parsed.length > maxBytes) throw bodyTooLarge();
      onBytes?.(parsed.length);
      return parsed;
    },
  };
}

/** Returns the bytes of a body that the framework's parser has already read. */
function toBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  const text = typeof body === 'string' ? body : writeJson(body);
  if (text !== undefined) return Buffer.from(text);
  throw new ServerError('bad_request', 'Cannot read the body: it is nested too deeply');
}

/** Returns undefined for a value with more levels than `JSON.stringify` can write. A parser can accept more. */
function writeJson(body: unknown): string | undefined {
  try {
    return JSON.stringify(body);
  } catch {
    return undefined;
  }
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
