import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import { acceptsEncoding } from './http-exchange.ts';
import { type Route, route, StreamReply } from './route.ts';

/**
 * A file of the built page. The server reads all files at its start, so a request cannot reach files outside
 * the page.
 */
interface PageFile {
  /** The path of the file in the URL, for example `/assets/index-a1b2c3.js`. */
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
  webmanifest: 'application/manifest+json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
};

/**
 * The content security policy of the page. It allows scripts and styles only from this server. It allows
 * blobs, because the page shows images and sounds of a task as blobs.
 */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; connect-src 'self'; font-src 'self'; frame-src 'self'; worker-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The additional rights in the content security policy of a frame. */
interface FrameRights {
  /** The sources of pictures. Default: only data and blobs. */
  readonly pictures?: string | undefined;
  /** The origins to which the scripts of an app can connect. Default: none. */
  readonly connect?: string | undefined;
  /** The origins from which an app loads scripts, styles, fonts, pictures and media. Default: none. */
  readonly resource?: string | undefined;
  /** True if scripts in the frame can handle the `submit` event of forms. The browser sends no form. Default: false. */
  readonly hasForms?: boolean | undefined;
}

/**
 * Returns the policy of a frame in which the page shows content of models. `sandbox` gives the frame its own
 * origin, and the other rules block the network. The first policy allows only the scripts of the file and
 * scripts that they start. The second policy restricts started scripts to `data:` URLs and the given origins.
 */
function framePolicy(own: string, rights: FrameRights = {}): string {
  const { pictures = 'data: blob:', connect, resource, hasForms = false } = rights;
  const from = resource === undefined ? '' : ` ${resource}`;
  const connections = connect === undefined ? '' : ` connect-src ${connect};`;
  const sandbox = `sandbox allow-scripts${hasForms ? ' allow-forms' : ''}`;
  const first = `${sandbox}; default-src 'none'; script-src ${own} 'strict-dynamic'; worker-src 'none'; style-src 'unsafe-inline'${from}; img-src ${pictures}${from}; media-src data: blob:${from}; font-src data:${from};${connections} frame-ancestors 'self'; base-uri 'none'; form-action 'none'`;
  return `${first}, script-src ${own} data:${from}`;
}

/** Returns the hashes of the scripts of a frame, as its policy names them. */
function scriptHashes(bytes: Buffer): string {
  const scripts = [...bytes.toString().matchAll(/<script>(.*?)<\/script>/gs)];
  const hashes = scripts.map(([, code = '']) => createHash('sha256').update(code).digest('base64'));
  return hashes.map((hash) => `'sha256-${hash}'`).join(' ');
}

const maxFiles = 1000;

/**
 * Returns routes for a folder of static files. `index.html` is served at `/` and at every path below
 * `/app/`, because the page has its own router. All other files are served at their own paths.
 */
export function pageRoutes(folder: string): readonly Route[] {
  const files = readFiles(folder);
  const index = files.find(({ path }) => path === '/index.html');
  if (index === undefined) throw pageNotFound(folder);
  const others = files.filter((file) => file !== index && typeOf(file.path) !== undefined);
  const indexAt = indexFiles(index);
  return [
    ...['/', '/app/*'].map((path) => indexRoute(path, indexAt)),
    ...others.map((file) => {
      if (file.path === appFrame) return appRoute(file);
      const served = servedFile(file);
      return fileRoute(file.path, () => served);
    }),
  ];
}

/** The frame of MCP apps. Its policy depends on the request. */
const appFrame = '/frames/app.html';

/** A list of origins, each with at most one wildcard at its start. It cannot contain another directive. */
const originList = z
  .string()
  .max(8_000)
  .refine((text) => text.split(' ').every((one) => origin.test(one)), 'it is not a list of origins')
  .optional();
const origin = /^(?:https|wss):\/\/(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?(?::\d{1,5})?$/;

/**
 * Returns the route of the frame for MCP apps. The page names the origins that the app declares, after the
 * user has agreed.
 */
function appRoute(file: PageFile): Route {
  const served = servedFile(file);
  // Every client can request the frame, also without a token, so the hashes are computed once.
  const hashes = scriptHashes(file.bytes);
  return route({
    ...fileSpec(file.path),
    query: z.object({ connect: originList, resource: originList }),
    handle: async ({ query }, { headers: requestHeaders }) => {
      const policy = framePolicy(hashes, { ...query, hasForms: true });
      const headers = { ...served.headers, 'content-security-policy': policy };
      return sendFile({ ...served, headers }, requestHeaders);
    },
  });
}

/**
 * Returns a function that creates `index.html` for a base path. Paths such as `./assets/index.js` would be
 * relative to the current page, so the base path replaces the dot. The page reads the base path from a `meta`
 * element.
 */
function indexFiles({ path, bytes }: PageFile): (basePath: string) => ServedFile {
  const cache = new Map<string, ServedFile>();
  const text = bytes.toString();
  return (basePath) => {
    const known = cache.get(basePath);
    if (known !== undefined) return known;
    const meta = `<meta name="millrace-base" content="${basePath}" />`;
    const html = text
      .replaceAll(/((?:src|href)=")\.\//g, `$1${basePath}/`)
      .replace(/<head>/, `<head>\n    ${meta}`);
    const file = servedFile({ path, bytes: Buffer.from(html) });
    // The cache stays small. A server has few base paths: its own and one for each handler.
    cache.set(basePath, file);
    return file;
  };
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
  const message = `Cannot serve the page from ${folder}: it contains no index.html. Build the page, or omit \`page\``;
  return new ServerError('not_found', message, { folder }, { cause });
}

function typeOf(path: string): string | undefined {
  return contentTypes[path.slice(path.lastIndexOf('.') + 1)];
}

/** A file with its response headers. */
interface ServedFile {
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly encoded: BodyEncoder;
}

function servedFile({ path: filePath, bytes }: PageFile): ServedFile {
  const type = typeOf(filePath) ?? 'application/octet-stream';
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`;
  const encoded = createEncoder(bytes, type);
  const headers = {
    'content-type': type,
    ...policyOf(filePath, bytes),
    'cross-origin-opener-policy': 'same-origin',
    // A file whose name contains a content hash never changes, so clients can cache it forever.
    'cache-control': isHashed(filePath) ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    etag,
  };
  return { etag, headers, encoded };
}

/** Returns the headers that restrict the actions of a file in the browser. */
function policyOf(path: string, bytes: Buffer): Readonly<Record<string, string>> {
  // A DNS lookup would reveal to the owner of the name that a user has read the content.
  const noLookups = { 'x-dns-prefetch-control': 'off' };
  if (!path.startsWith('/frames/'))
    return { 'content-security-policy': contentSecurityPolicy, ...noLookups };
  // Only this frame loads pictures from other servers. The page creates the frame only after the user has
  // agreed.
  const pictures = path === '/frames/picture.html' ? 'https:' : undefined;
  return {
    'content-security-policy': framePolicy(scriptHashes(bytes), { pictures }),
    ...noLookups,
  };
}

/** Returns the route of one file. The route is public, because the files contain no secrets. */
function fileRoute(path: string, fileAt: (basePath: string) => ServedFile): Route {
  return route({
    ...fileSpec(path),
    handle: async (_input, { headers, basePath }) => sendFile(fileAt(basePath), headers),
  });
}

/**
 * Returns a route of the page itself. The page must know whether a page of another site opened it, and only the
 * server receives the header `sec-fetch-site`. The reply always contains the result, because a reply with the
 * status 304 otherwise keeps the result of an earlier request.
 */
function indexRoute(path: string, fileAt: (basePath: string) => ServedFile): Route {
  return route({
    ...fileSpec(path),
    handle: async (_input, { headers: requestHeaders, basePath }) => {
      const served = fileAt(basePath);
      const site = requestHeaders['sec-fetch-site'];
      const isOwnLink = site === 'none' || site === 'same-origin';
      const headers = {
        ...served.headers,
        'server-timing': isOwnLink ? 'own-link' : 'other-link',
        vary: 'accept-encoding, sec-fetch-site',
      };
      return sendFile({ ...served, headers }, requestHeaders);
    },
  });
}

function fileSpec(path: string) {
  const [method, access] = ['GET', 'public'] as const;
  return { method, path, summary: 'Get a file of the page', access, reply: z.string() };
}

function sendFile(
  { etag, headers, encoded }: ServedFile,
  requestHeaders: IncomingHttpHeaders,
): StreamReply {
  return new StreamReply(async (response) => {
    if (requestHeaders['if-none-match']?.includes(etag))
      return void response.writeHead(304, headers).end();
    const { body, encoding } = await encoded(requestHeaders);
    response.writeHead(200, {
      ...headers,
      ...(encoding !== undefined && { 'content-encoding': encoding }),
      'content-length': body.length,
    });
    response.end(body);
  });
}

function isHashed(path: string): boolean {
  return /^\/assets\/.+-[\w-]{8}\.\w+$/.test(path);
}

interface EncodedBody {
  readonly body: Buffer;
  readonly encoding?: 'br' | 'gzip';
}

/** Returns the body in an encoding that the client accepts. */
export type BodyEncoder = (headers: IncomingHttpHeaders) => Promise<EncodedBody>;

/**
 * Returns a function that compresses the body with an encoding that the client accepts. Each encoding is
 * computed once, at its first use. The compression runs in a Node thread, because a large file takes 250 ms.
 */
export function createEncoder(bytes: Buffer, type: string): BodyEncoder {
  const cache = new Map<string, Promise<Buffer>>();
  const isText = /^text|json|svg/.test(type);
  const once = async (encoding: 'br' | 'gzip', make: () => Promise<Buffer>) => {
    const body = cache.get(encoding) ?? make();
    cache.set(encoding, body);
    return { body: await body, encoding };
  };
  return async (headers) => {
    if (!isText) return { body: bytes };
    if (acceptsEncoding(headers, 'br')) return once('br', () => toBrotli(bytes, brotliOptions));
    if (acceptsEncoding(headers, 'gzip')) return once('gzip', () => toGzip(bytes));
    return { body: bytes };
  };
}

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

/** A higher quality takes seconds and makes the files only slightly smaller. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 7 } };
