import { memoryLog, systemClock } from '@millrace/log';
import type { Rows } from '../../contract/rows.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { TaskStreams } from '../../contract/stream.ts';
import { TokenStore } from '../../http/access/token-store.ts';
import { HttpServer, type HttpServerOptions, type ListenOptions } from '../../http/http-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import { type FakeServiceOptions, fakeService } from './fake-service.ts';

type TestServerOptions = Partial<HttpServerOptions> &
  FakeServiceOptions & {
    /**
     * The names of operator tokens. The token of a name is `testToken(name)`. Default: no token is
     * required.
     */
    readonly operators?: readonly string[];
    readonly rows?: Rows;
    readonly listen?: ListenOptions;
  };

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly server: HttpServer;
  readonly options: HttpServerOptions;
  /** Sends a request with a JSON body. Returns the status and the answer. */
  request(path: string, init?: TestRequest): Promise<TestResponse>;
}

interface TestRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
  readonly json: any;
}

const noStreams: TaskStreams = {
  serve: async () =>
    Promise.reject(new ServerError('unavailable', 'This test server has no streams')),
  close: async () => {},
};

/** Returns an operator token that is long enough. */
export function testToken(name: string): string {
  return `${name}-0123456789abcdefghijklmnopqrstuvwxyz`;
}

/** Starts the HTTP layer on a real socket, with a fake task service. */
export async function startTestServer(given: TestServerOptions = {}): Promise<TestServer> {
  const { operators, rows = memoryRows(), listen = { port: 0 }, agents, answer } = given;
  const options: HttpServerOptions = {
    service: fakeService({ ...(agents && { agents }), ...(answer && { answer }) }),
    streams: noStreams,
    tokens: new TokenStore(rows, operators?.map(testToken) ?? 'none', given.clock ?? systemClock),
    log: memoryLog(),
    clock: systemClock,
    ...given,
  };
  const server = new HttpServer(options);
  const { url } = await server.listen(listen);
  return {
    url,
    port: Number(new URL(url).port),
    server,
    options,
    request: (path, init) => sendRequest(url, path, init),
    async [Symbol.asyncDispose]() {
      await server.close();
      await options.log.close();
    },
  };
}

async function sendRequest(
  url: string,
  path: string,
  init: TestRequest = {},
): Promise<TestResponse> {
  const { body, headers } = init;
  const method = init.method ?? (body === undefined ? 'GET' : 'POST');
  const response = await fetch(new URL(path, url), {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}
