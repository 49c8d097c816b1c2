import { ClientError } from '@millrace/client';
import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { readToken } from '../app/browser-storage.ts';

/** A part of a list, and where it goes on; undefined at its end. */
export interface ListPage {
  readonly data: JsonValue;
  readonly next: string | undefined;
}

/** Routes of the server that the client has no words for. */
export class Api {
  get(path: string, signal?: AbortSignal): Promise<JsonValue> {
    return this.#json(path, { ...(signal && { signal }) });
  }

  async page(path: string, signal: AbortSignal): Promise<ListPage> {
    const response = await this.#send(path, { signal });
    const next = response.headers.get('x-next-cursor') ?? undefined;
    return { data: await readJson(response), next };
  }

  post(path: string, body: JsonObject): Promise<JsonValue> {
    return this.#json(path, { method: 'POST', body: JSON.stringify(body) });
  }

  put(path: string, body: JsonObject): Promise<JsonValue> {
    return this.#json(path, { method: 'PUT', body: JSON.stringify(body) });
  }

  /** The bytes as they come, of a stream of server-sent events for instance. */
  async stream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#send(path, { signal });
    if (!response.ok || response.body === null) throw await responseError(response);
    return response.body;
  }

  async #json(path: string, init: RequestInit): Promise<JsonValue> {
    return readJson(await this.#send(path, init));
  }

  #send(path: string, init: RequestInit): Promise<Response> {
    const token = readToken();
    const headers = new Headers({ accept: '*/*' });
    if (token !== '') headers.set('authorization', `Bearer ${token}`);
    if (typeof init.body === 'string') headers.set('content-type', 'application/json');
    return fetch(path, { ...init, headers, cache: 'no-store' }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause;
      const message = 'The server cannot be reached. Check that it runs';
      throw new ClientError('unreachable', message, {}, { cause });
    });
  }
}

async function readJson(response: Response): Promise<JsonValue> {
  if (!response.ok) throw await responseError(response);
  const parsed = parseJson(await response.text());
  if (parsed.ok) return parsed.value;
  throw new ClientError('bad_answer', 'The answer is not what a Millrace server says');
}

async function responseError(response: Response): Promise<ClientError> {
  const parsed = parseJson(await response.text().catch(() => ''));
  const serverMessage = parsed.ok
    ? (parsed.value as { readonly message?: JsonValue } | null)?.message
    : '';
  const message =
    typeof serverMessage === 'string' && serverMessage !== ''
      ? serverMessage
      : `The server says ${response.status}`;
  const code = response.status === 401 ? 'unauthorized' : 'bad_request';
  return new ClientError(code, message, {}, { status: response.status });
}

/** Nobody answered: it may be heard another time. */
export function isUnreachable(reason: unknown): boolean {
  return reason instanceof ClientError && reason.code === 'unreachable';
}

/** Why something was not done, for whoever wanted it: without the ids that a log has. */
export function errorText(reason: unknown): string {
  if (!(reason instanceof ClientError))
    return reason instanceof Error ? reason.message : `${reason}`;
  switch (reason.code) {
    case 'unreachable':
      return 'The server does not answer.';
    case 'unauthorized':
      return 'The server does not accept the token.';
    case 'not_found':
      return 'There is no such session any more.';
    case 'rate_limited':
      return 'The server has too much to do just now.';
    case 'too_large':
      return 'It is longer than the server takes.';
    default:
      return reason.message;
  }
}
