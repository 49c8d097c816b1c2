import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { abortable } from '../../abortable.ts';
import { assertKnownOptions } from '../../known-options.ts';
import { isFromOtherUser } from './connection-owner.ts';

/** Waits for the browser to return from a login page. */
export interface RedirectListener {
  /** The address to which the browser returns. */
  readonly redirectUri: string;
  /** A random text for the login page. Keep it secret: see `startUri`. */
  readonly state: string;
  /**
   * Returns an address of this listener that leads to the login page. Give this address to a browser, and not the
   * address of the page: other users of the machine can read the arguments of a program. On Linux, the listener
   * answers only programs of this user and of root.
   */
  startUri(page: string): string;
  /**
   * Resolves with the parameters of the first return that has the right state. On Linux, a return of a different
   * user of the machine does not count. A return in a part of a page, such as a picture, does not count either.
   */
  returned(signal: AbortSignal): Promise<URLSearchParams>;
  close(): Promise<void>;
}

/** Options of `listenForRedirect`. */
export interface RedirectListenerOptions {
  /** The port. 0 selects a free port. Default: 0. */
  readonly port?: number | undefined;
  /** The name of this machine in the address. The listener always listens on 127.0.0.1. Default: `127.0.0.1`. */
  readonly host?: '127.0.0.1' | 'localhost' | undefined;
  /**
   * The place of the state in the return. `query`: the login page returns the parameter `state`. `path`: the state
   * is a part of the address, for pages that know no parameter `state`. Default: `query`.
   */
  readonly stateIn?: 'query' | 'path' | undefined;
}

const path = '/callback';
const startPath = '/start/';
const maxConnections = 20;

/**
 * Listens on 127.0.0.1 for the return of a browser from a login page. Only the first return with the right state
 * counts. Throws if the port is in use.
 *
 * @example
 * const listener = await listenForRedirect({ host: 'localhost', stateIn: 'path' });
 */
export async function listenForRedirect(
  options: RedirectListenerOptions = {},
): Promise<RedirectListener> {
  assertKnownOptions('listenForRedirect', options, { port: true, host: true, stateIn: true });
  const { port = 0, host = '127.0.0.1', stateIn = 'query' } = options;
  const state = randomBytes(32).toString('base64url');
  const { promise: returned, resolve } = Promise.withResolvers<URLSearchParams>();
  const start = randomBytes(32).toString('base64url');
  let page: string | undefined;
  let isOver = false;
  const server = createServer(
    { requestTimeout: 10_000, maxHeaderSize: 16_384 },
    (request, response) => {
      if (page !== undefined && isStart(request, start)) return redirect(response, page);
      const found = returnOf(request, redirectUri, stateIn);
      // The address of the login page can become known, for example if the user pastes it somewhere.
      const isReturn =
        found !== undefined &&
        !isOver &&
        isSame(found.state, state) &&
        isOfPage(request) &&
        !isFromOtherUser(request.socket);
      if (isReturn) {
        isOver = true;
        resolve(found.parameters);
      }
      // A request with another state is not from the page. The listener continues to wait.
      answer(response, isReturn);
    },
  );
  server.maxConnections = maxConnections;
  const { promise: listening, resolve: started, reject: failed } = Promise.withResolvers<void>();
  server.once('error', failed);
  server.listen(port, '127.0.0.1', started);
  await listening;
  const { port: ownPort } = server.address() as AddressInfo;
  const origin = `http://${host}:${ownPort}`;
  const redirectUri = `${origin}${path}${stateIn === 'path' ? `/${state}` : ''}`;
  return {
    ...{ redirectUri, state },
    startUri: (given) => {
      page = given;
      return `http://127.0.0.1:${ownPort}${startPath}${start}`;
    },
    returned: (signal) => abortable(returned, signal),
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Return {
  readonly state: string;
  readonly parameters: URLSearchParams;
}

/** Returns the state and the parameters of a return. Returns undefined for all other requests. */
function returnOf(
  request: IncomingMessage,
  redirectUri: string,
  stateIn: 'query' | 'path',
): Return | undefined {
  const expected = new URL(redirectUri);
  // A page of another site can reach this port with a name that resolves to 127.0.0.1.
  if (request.method !== 'GET' || request.headers.host !== expected.host) return undefined;
  const url = URL.parse(request.url ?? '/', expected.origin);
  if (url === null) return undefined;
  const { pathname, searchParams: parameters } = url;
  if (stateIn === 'query')
    return pathname === path ? { state: parameters.get('state') ?? '', parameters } : undefined;
  const prefix = `${path}/`;
  if (!pathname.startsWith(prefix)) return undefined;
  return { state: pathname.slice(prefix.length), parameters };
}

/** True if the browser of the user opens the start address. Another page cannot make it do so. */
function isStart({ method, url = '', headers, socket }: IncomingMessage, start: string): boolean {
  const { host, 'sec-fetch-site': site = 'none' } = headers;
  if (method !== 'GET' || host !== `127.0.0.1:${socket.localPort}` || site !== 'none') return false;
  return isSame(url, `${startPath}${start}`) && !isFromOtherUser(socket);
}

/** False for a request of a part of a page, such as a picture or a frame. Old browsers do not tell. */
function isOfPage({ headers }: IncomingMessage): boolean {
  return (headers['sec-fetch-dest'] ?? 'document') === 'document';
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function redirect(response: ServerResponse, location: string): void {
  const headers = { 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' };
  response.writeHead(302, { ...headers, location, connection: 'close' }).end();
}

function answer(response: ServerResponse, isReturn: boolean): void {
  const text = isReturn
    ? 'Millrace has received the answer. You can close this page.'
    : 'This is not the login that Millrace waits for.';
  response.writeHead(isReturn ? 200 : 400, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(`<!doctype html><title>Millrace</title><p>${text}</p>`);
}
