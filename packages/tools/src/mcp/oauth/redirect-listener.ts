import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { abortable } from '../../abortable.ts';

/** Waits for the browser to return from a login page. */
export interface RedirectListener {
  /** The address to which the browser returns. */
  readonly redirectUri: string;
  /** A random text. Only the login page that this program opened knows it. */
  readonly state: string;
  /** Resolves with the parameters of the first return that has the right state. */
  returned(signal: AbortSignal): Promise<URLSearchParams>;
  close(): Promise<void>;
}

const path = '/callback';
const maxConnections = 20;

/** Listens on 127.0.0.1. Throws if the port is in use. Port 0 selects a free port. */
export async function listenForRedirect(port: number): Promise<RedirectListener> {
  const state = randomBytes(32).toString('base64url');
  const { promise: returned, resolve } = Promise.withResolvers<URLSearchParams>();
  const server = createServer(
    { requestTimeout: 10_000, maxHeaderSize: 16_384 },
    (request, response) => {
      const parameters = parametersOf(request, redirectUri);
      const isReturn = parameters !== undefined && isSame(parameters.get('state') ?? '', state);
      if (isReturn) resolve(parameters);
      // A request with another state is not from the page. The listener continues to wait.
      answer(response, isReturn);
    },
  );
  server.maxConnections = maxConnections;
  const { promise: listening, resolve: started, reject: failed } = Promise.withResolvers<void>();
  server.once('error', failed);
  server.listen(port, '127.0.0.1', started);
  await listening;
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  return {
    ...{ redirectUri, state },
    returned: (signal) => abortable(returned, signal),
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Returns the parameters of a return. Returns undefined for all other requests. */
function parametersOf(request: IncomingMessage, redirectUri: string): URLSearchParams | undefined {
  const expected = new URL(redirectUri);
  // A page of another site can reach this port with a name that resolves to 127.0.0.1.
  if (request.method !== 'GET' || request.headers.host !== expected.host) return undefined;
  const url = URL.parse(request.url ?? '/', expected.origin);
  return url?.pathname === path ? url.searchParams : undefined;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
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
