import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join, sep } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import { type Route, route, StreamReply } from './route.ts';

/** What is served of a built page is read once, so that a path can name nothing else. */
interface PageFile {
  /** `/assets/index-a1b2c3.js` */
  readonly path: string;
  readonly bytes: Buffer;
}

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  json: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
};

/** Only what comes from here runs or is loaded; pictures and sounds of a task are made in the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const maxFiles = 1000;

/**
 * Routes for a folder of static files: its `index.html` at `/` and at every path below `/app/`, which
 * are the page's own, and each file at its path.
 */
export function pageRoutes(folder: string): readonly Route[] {
  const files = readFiles(folder);
  const index = files.find(({ path }) => path === '/index.html');
  if (index === undefined) throw pageNotFound(folder);
  const others = files.filter((file) => file !== index && typeOf(file.path) !== undefined);
  return [
    fileRoute('/', index),
    fileRoute('/app/*', index),
    ...others.map((file) => fileRoute(file.path, file)),
  ];
}

function readFiles(folder: string): readonly PageFile[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const found = entries.filter((entry) => entry.isFile()).slice(0, maxFiles);
    return found.map(({ parentPath, name }) => {
      const file = join(parentPath, name);
      const path = file.slice(join(folder, sep).length).split(sep).map(encodeURIComponent);
      return { path: `/${path.join('/')}`, bytes: readFileSync(file) };
    });
  } catch (cause) {
    throw pageNotFound(folder, cause);
  }
}

function pageNotFound(folder: string, cause?: unknown): ServerError {
  const message = `Cannot serve the page from ${folder}: there is no index.html in it. Build the page, or leave out \`page\``;
  return new ServerError('not_found', message, { folder }, { cause });
}

function typeOf(path: string): string | undefined {
  return contentTypes[path.slice(path.lastIndexOf('.') + 1)];
}

/** Everybody may read it: it holds no secret. */
function fileRoute(path: string, { path: of, bytes }: PageFile): Route {
  const type = typeOf(of) ?? 'application/octet-stream';
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`;
  const encoded = createEncoder(bytes, type);
  const headers = {
    'content-type': type,
    'content-security-policy': contentSecurityPolicy,
    'cross-origin-opener-policy': 'same-origin',
    // What has the hash of its content in its name never changes.
    'cache-control': isHashed(of) ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    etag,
  };
  return route({
    ...{ method: 'GET', path, summary: 'A file of the page', access: 'public', reply: z.string() },
    handle: async (_input, { headers: asked }) =>
      new StreamReply(async (response) => {
        if (asked['if-none-match']?.includes(etag))
          return void response.writeHead(304, headers).end();
        const { body, encoding } = encoded(asked);
        response.writeHead(200, {
          ...headers,
          ...(encoding !== undefined && { 'content-encoding': encoding }),
          'content-length': body.length,
        });
        response.end(body);
      }),
  });
}

function isHashed(path: string): boolean {
  return /^\/assets\/.+-[\w-]{8}\.\w+$/.test(path);
}

interface EncodedBody {
  readonly body: Buffer;
  readonly encoding?: 'br' | 'gzip';
}

/** In the shortest form that the reader takes; each is made once, when it is first asked for. */
function createEncoder(bytes: Buffer, type: string): (headers: IncomingHttpHeaders) => EncodedBody {
  const made = new Map<string, Buffer>();
  const isText = /^text|json|svg/.test(type);
  const once = (encoding: 'br' | 'gzip', make: () => Buffer): EncodedBody => {
    const body = made.get(encoding) ?? make();
    made.set(encoding, body);
    return { body, encoding };
  };
  return (headers) => {
    const accepted = String(headers['accept-encoding'] ?? '');
    if (!isText) return { body: bytes };
    if (/\bbr\b/.test(accepted)) return once('br', () => brotliCompressSync(bytes, brotliOptions));
    if (/\bgzip\b/.test(accepted)) return once('gzip', () => gzipSync(bytes));
    return { body: bytes };
  };
}

/** The best takes seconds, and is hardly better. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 7 } };
