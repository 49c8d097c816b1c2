import { ClientError } from '@millrace/client';
import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { readToken } from '../app/browser-storage.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { withBase } from './base-path.ts';

/** One page of a list. `next` is the cursor of the next page. It is undefined on the last page. */
export interface ListPage {
  readonly data: JsonValue;
  readonly next: string | undefined;
}

/** Sends requests to routes of the server that the client library does not cover. */
export class Api {
  readonly #fetch: (path: string, init: RequestInit) => Promise<Response>;

  /** `send` sends a request to a path. Default: the `fetch` of the browser. */
  constructor(send = (path: string, init: RequestInit): Promise<Response> => fetch(path, init)) {
    this.#fetch = send;
  }

  get(path: string, signal?: AbortSignal): Promise<JsonValue> {
    return this.#json(path, { ...(signal && { signal }) });
  }

  async page(path: string, signal?: AbortSignal): Promise<ListPage> {
    const response = await this.#send(path, { ...(signal && { signal }) });
    const next = response.headers.get('x-next-cursor') ?? undefined;
    return { data: await readJson(response), next };
  }

  post(path: string, body: JsonObject): Promise<JsonValue> {
    return this.#json(path, { method: 'POST', body: JSON.stringify(body) });
  }

  put(path: string, body: JsonObject): Promise<JsonValue> {
    return this.#json(path, { method: 'PUT', body: JSON.stringify(body) });
  }

  delete(path: string): Promise<JsonValue> {
    return this.#json(path, { method: 'DELETE' });
  }

  /** Returns the response as a byte stream, for example server-sent events. */
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
    const sent = this.#fetch(withBase(path), { ...init, headers, cache: 'no-store' });
    return sent.catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause;
      const message = pageLabels().serverUnreachable;
      throw new ClientError('unreachable', message, {}, { cause });
    });
  }
}

async function readJson(response: Response): Promise<JsonValue> {
  if (!response.ok) throw await responseError(response);
  const parsed = parseJson(await response.text());
  if (parsed.ok) return parsed.value;
  throw new ClientError('bad_answer', pageLabels().notAMillraceServer);
}

async function responseError(response: Response): Promise<ClientError> {
  const parsed = parseJson(await response.text().catch(() => ''));
  const serverMessage = parsed.ok
    ? (parsed.value as { readonly message?: JsonValue } | null)?.message
    : '';
  const message =
    typeof serverMessage === 'string' && serverMessage !== ''
      ? serverMessage
      : pageLabels().serverStatus(response.status);
  const code = response.status === 401 ? 'unauthorized' : 'bad_request';
  return new ClientError(code, message, {}, { status: response.status });
}
