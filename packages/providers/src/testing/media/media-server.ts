import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the server received. */
interface MediaServerRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/**
 * An answer of the server. With `hang` it never answers. With `cut` it closes the connection inside
 * the body.
 */
export interface MediaServerReply {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
  readonly how?: 'hang' | 'cut' | undefined;
}

export type MediaRules = (request: MediaServerRequest) => MediaServerReply;

/** A server on the loopback interface that answers by its rules. */
export interface MediaServer {
  readonly url: string;
  readonly requests: readonly MediaServerRequest[];
  /** Sets the answers to the next requests, which replace those of the rules. */
  script(...replies: readonly MediaServerReply[]): void;
  /** Resolves when the server has received this number of requests. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startMediaServer(rules: MediaRules): Promise<MediaServer> {
  const requests: MediaServerRequest[] = [];
  const scripted: MediaServerReply[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url = '', headers } = request;
    const received = { method, path: url, headers, body: Buffer.concat(chunks) };
    requests.push(received);
    for (const one of waiting) if (requests.length >= one.count) one.resolve();
    reply(response, scripted.shift() ?? rules(received));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    script: (...replies) => void scripted.push(...replies),
    received: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function reply(
  response: ServerResponse,
  { status = 200, headers, body = '', how }: MediaServerReply,
): void {
  if (how === 'hang') return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  if (how !== 'cut') {
    response.end(body);
    return;
  }
  response.write(body);
  response.socket?.destroySoon();
}

/** Returns the error of OpenAI's API for a request that it refuses. */
export function openAiError(
  status: number,
  message: string,
  code: string | null = null,
): MediaServerReply {
  const error = { message, type: 'invalid_request_error', param: null, code };
  return { status, headers: { 'x-request-id': 'req_1' }, body: JSON.stringify({ error }) };
}

/** Returns the error of Google's APIs for a request that they refuse. */
export function googleError(status: number, message: string, name: string): MediaServerReply {
  return { status, body: JSON.stringify({ error: { code: status, message, status: name } }) };
}

/**
 * Parses a JSON object that may have only these fields. Returns the problem as text if it is not
 * such an object.
 */
export function fieldsOf(
  text: string,
  allowed: readonly string[],
): Record<string, unknown> | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'We could not parse the JSON body of your request.';
  }
  if (typeof value !== 'object' || value === null) return 'The body must be an object.';
  const extra = Object.keys(value).find((name) => !allowed.includes(name));
  if (extra !== undefined) return `Unrecognized request argument supplied: ${extra}`;
  return value as Record<string, unknown>;
}
