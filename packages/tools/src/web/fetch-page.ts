import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { assertPublicHost } from './public-address.ts';

export interface FetchLimits {
  readonly maxBytes: number;
  readonly maxRedirects: number;
  readonly signal: AbortSignal;
  readonly lookup: LookupFunction;
  /** True if addresses that are not public are refused. */
  readonly publicOnly: boolean;
  /** The method, the headers and the body. Default: a request for a page. */
  readonly request?: PageRequest | undefined;
}

interface PageRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The name of the tool, for the header `user-agent`. */
  readonly agent: string;
}

export type FetchedPage =
  | {
      readonly type: 'page';
      readonly url: string;
      readonly status: number;
      /** The media type in lower case, without parameters. */
      readonly mimeType: string;
      readonly text: string;
      /** True if the page is longer than `maxBytes`. */
      readonly isCut: boolean;
    }
  /** The page is on another host, for which the user has not been asked. */
  | { readonly type: 'moved'; readonly to: string }
  | { readonly type: 'not_text'; readonly mimeType: string };

/** Maximum length of the URL of a page. */
export const maxUrlLength = 2000;

/** Fetches a page. It follows redirects on the same host. */
export async function fetchPage(start: URL, limits: FetchLimits): Promise<FetchedPage> {
  let url = start;
  for (let hop = 0; hop <= limits.maxRedirects; hop++) {
    if (limits.publicOnly) assertPublicHost(url);
    const response = await send(url, limits);
    const { statusCode: status = 0, headers } = response;
    const location = status >= 300 && status < 400 ? headers.location : undefined;
    if (location === undefined) return await readPage(url, response, limits);
    response.destroy();
    const next = URL.parse(location, url.href);
    if (next === null) throw new Error('it redirects to an invalid URL');
    if (next.href.length > maxUrlLength)
      throw new Error(`it redirects to a URL of more than ${maxUrlLength} characters`);
    if (!/^https?:$/.test(next.protocol)) throw new Error(`it redirects to ${next.protocol}`);
    const isDowngrade = url.protocol === 'https:' && next.protocol === 'http:';
    if (next.host !== url.host && !isUpgrade(url, next)) return { type: 'moved', to: next.href };
    if (isDowngrade) throw new Error('it redirects from https to http');
    url = next;
  }
  throw new Error(`it redirects more than ${limits.maxRedirects} times`);
}

/** True if a redirect leads from http to https on the same host with the default ports. */
function isUpgrade(from: URL, to: URL): boolean {
  return from.hostname === to.hostname && from.port === '' && to.port === '';
}

const pageRequest: PageRequest = {
  method: 'GET',
  headers: {
    accept: 'text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1',
  },
  agent: 'web_fetch',
};

async function send(
  url: URL,
  { signal, lookup, request: { method, headers: own, body, agent } = pageRequest }: FetchLimits,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': `millrace (${agent})`,
    ...own,
  };
  // Node loads its whole HTTP client for this import, so a start without requests does not import it.
  const { request: start } = await (url.protocol === 'https:'
    ? import('node:https')
    : import('node:http'));
  // The connection is not reused, because a reused connection would skip the check of its address.
  const options = { method, headers, signal, lookup, agent: false, maxHeaderSize: 65_536 } as const;
  const request = start(url, options, resolve);
  request.once('error', reject);
  request.end(body);
  return promise;
}

const textTypes =
  /^(?:text\/.*|application\/(?:json|xml|xhtml\+xml|javascript|.*\+json|.*\+xml|yaml|toml))$/;

async function readPage(
  url: URL,
  response: IncomingMessage,
  { maxBytes }: FetchLimits,
): Promise<FetchedPage> {
  const [type = '', ...parameters] = (response.headers['content-type'] ?? 'text/plain').split(';');
  const mimeType = type.trim().toLowerCase();
  if (!textTypes.test(mimeType)) {
    response.destroy();
    return { type: 'not_text', mimeType };
  }
  const { bytes, isCut } = await readBytes(decompressed(response), maxBytes);
  response.destroy();
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(parameters.join(';'))?.[1];
  const text = decoderFor(charset ?? charsetOfPage(bytes)).decode(bytes);
  const status = response.statusCode ?? 0;
  return { type: 'page', url: url.href, status, mimeType, text, isCut };
}

function decompressed(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  const make = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress }[encoding];
  if (make === undefined) {
    if (encoding === 'identity' || encoding === '') return response;
    throw new Error(`its encoding ${encoding} is unknown`);
  }
  const output = make();
  response.once('error', (error) => output.destroy(error));
  return response.pipe(output);
}

/** Reads at most `maxBytes`. A small compressed page can become very large. */
async function readBytes(
  stream: Readable,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) break;
  }
  stream.destroy();
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: length > maxBytes };
}

function charsetOfPage(bytes: Buffer): string | undefined {
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]+)/i.exec(
    bytes.toString('latin1', 0, 2048),
  )?.[1];
}

function decoderFor(charset = 'utf-8'): { decode(bytes: Uint8Array): string } {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}
