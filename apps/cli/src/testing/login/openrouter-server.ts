import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** The key that the server gives to a program that logs in. */
export const loginKey = 'sk-or-v1-test-of-a-login';

interface ExchangeAnswer {
  readonly status: number;
  readonly body: string;
  readonly location?: string;
}

interface OpenRouterOptions {
  /** Answers the exchange of a code. Default: gives a key for the right code and verifier. */
  readonly exchange?: (() => ExchangeAnswer) | undefined;
  /** The parameters with which the browser returns. Default: the code. */
  readonly returned?: Readonly<Record<string, string>> | undefined;
}

/** A server in place of OpenRouter. It checks what OpenRouter documents. */
export async function startOpenRouter({ exchange, returned }: OpenRouterOptions = {}) {
  const code = 'a-code.1';
  const challenges: string[] = [];
  const bodies: string[] = [];
  const answers: { readonly status: number; readonly body: string; readonly location?: string }[] =
    [];
  // A connection stays open on a machine that stops for some seconds.
  const server = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === '/auth') {
      const callback = new URL(url.searchParams.get('callback_url') ?? '');
      challenges.push(url.searchParams.get('code_challenge') ?? '');
      for (const [name, value] of Object.entries(returned ?? { code }))
        callback.searchParams.set(name, value);
      response.writeHead(302, { location: callback.href }).end();
      return;
    }
    if (url.pathname === '/api/v1/key') {
      const isKnown = request.headers.authorization === `Bearer ${loginKey}`;
      response.writeHead(isKnown ? 200 : 401).end('{}');
      return;
    }
    const body = await bodyOf(request);
    bodies.push(body);
    const given = JSON.parse(body);
    const hash = createHash('sha256').update(String(given.code_verifier)).digest('base64url');
    const isRight =
      request.method === 'POST' &&
      given.code === code &&
      challenges.includes(hash) &&
      given.code_challenge_method === 'S256';
    const usual: ExchangeAnswer = isRight
      ? { status: 200, body: JSON.stringify({ key: loginKey, user_id: 'u1' }) }
      : { status: 403, body: '{"error":"Invalid code or code_verifier"}' };
    const answer = exchange?.() ?? usual;
    answers.push(answer);
    const headers = answer.location === undefined ? {} : { location: answer.location };
    response.writeHead(answer.status, { 'content-type': 'application/json', ...headers });
    response.end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** Sends the requests for OpenRouter to this server. */
  const fetchHere = (input: string | URL | Request, init?: RequestInit) =>
    fetch(String(input).replace('https://openrouter.ai', url), init);
  return { url, code, challenges, bodies, answers, fetch: fetchHere as typeof fetch };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** Returns the login page in a text. */
export function pageIn(text: string): string | undefined {
  return /^(http:\/\/127\.0\.0\.1:\d+\/auth\?\S+)$/m.exec(text)?.[1];
}

/** Opens a login page and follows its redirect, as a browser does. Returns the last status. */
export async function browse(page: string): Promise<number> {
  const response = await fetch(page);
  await response.text();
  return response.status;
}
