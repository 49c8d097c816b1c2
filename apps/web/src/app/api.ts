import { ClientError } from '@millrace/client';
import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { readStored, session, writeStored } from './stored.ts';

export function readToken(): string {
  const token = readStored(session, 'token') ?? '';
  // With one that cannot be sent nothing could be asked at all, not even for another.
  return refusalOfToken(token) === undefined ? token : '';
}

/** Why no request can carry it; undefined where one can. */
export function refusalOfToken(token: string): string | undefined {
  const odd = /[^\u0020-\u007e\u0080-\u00ff]/u.exec(token)?.[0];
  if (odd === undefined) return undefined;
  const code = odd.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  const shown = /[\p{C}\p{Z}]/u.test(odd) ? `U+${code}` : `“${odd}”`;
  return `A token with ${shown} in it cannot be sent. Copy it again, as it was given to the server.`;
}

export function writeToken(token: string): void {
  writeStored(session, 'token', token);
}

/** Routes of the server that the client has no words for. */
export class Api {
  get(path: string, signal?: AbortSignal): Promise<JsonValue> {
    return this.#json(path, { ...(signal && { signal }) });
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
    if (!response.ok || response.body === null) throw await refusal(response);
    return response.body;
  }

  async #json(path: string, init: RequestInit): Promise<JsonValue> {
    const response = await this.#send(path, init);
    if (!response.ok) throw await refusal(response);
    const parsed = parseJson(await response.text());
    if (parsed.ok) return parsed.value;
    throw new ClientError('bad_answer', 'The answer is not what a Millrace server says');
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

async function refusal(response: Response): Promise<ClientError> {
  const parsed = parseJson(await response.text().catch(() => ''));
  const said = parsed.ok ? (parsed.value as { readonly message?: JsonValue } | null)?.message : '';
  const message =
    typeof said === 'string' && said !== '' ? said : `The server says ${response.status}`;
  const code = response.status === 401 ? 'unauthorized' : 'bad_request';
  return new ClientError(code, message, {}, { status: response.status });
}
