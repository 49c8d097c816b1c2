import { isId, isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { readSseData } from '@millrace/providers';

interface StdioBridgeOptions {
  /** Answers a request to the server. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The token of the server. */
  readonly token: string;
  /** Writes one line. The promise resolves when the client has taken it. */
  readonly write: (line: string) => Promise<void>;
  /** Offers a session of an earlier process to the client. */
  readonly adopt: (session: string) => Promise<void>;
}

/** Maximum length of one message, in characters. */
const maxEventLength = 2 ** 26;

/** Maximum number of requests that are being answered. Further requests are read after one is answered. */
const maxRequests = 64;
const metaVersion = 'io.modelcontextprotocol/protocolVersion';

/**
 * Connects a client of MCP on standard input and output to the endpoint `/mcp` of a server in the same process.
 * Each line is one request of the endpoint. Lines of its streams are lines for the client.
 */
export class StdioBridge {
  readonly #options: StdioBridgeOptions;
  readonly #requests = new Set<Promise<void>>();
  /** The requests of version 2026-07-28 that a client can cancel, by their ids. */
  readonly #cancels = new Map<string, AbortController>();
  /** The headers of a client that has sent `initialize`. */
  #connection: Readonly<Record<string, string>> = {};
  /** The stream that reports changes of resources. Undefined until the client follows a resource. */
  #listening: Promise<void> | undefined;
  readonly #closed = new AbortController();
  #known = new Set<string>();

  constructor(options: StdioBridgeOptions) {
    this.#options = options;
  }

  /** Handles one line. The promise resolves when the next line may be read. */
  async handle(line: string): Promise<void> {
    if (line.trim() === '') return;
    const read = parseJson(line);
    const message = read.ok && isJsonObject(read.value) ? read.value : {};
    const params = isJsonObject(message['params']) ? message['params'] : {};
    if (message['method'] === 'notifications/cancelled')
      this.#cancels.get(JSON.stringify(params['requestId'] ?? null))?.abort();
    const work = this.#send(line, message, params);
    // The answer to `initialize` has the headers of all later requests.
    if (message['method'] === 'initialize') return work;
    this.#requests.add(work);
    void work.finally(() => this.#requests.delete(work));
    if (this.#requests.size >= maxRequests) await Promise.race(this.#requests);
  }

  /** Resolves when all requests are answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#requests);
    this.#closed.abort();
    await this.#listening;
  }

  async #send(line: string, message: JsonObject, params: JsonObject): Promise<void> {
    const { fetch, token, write } = this.#options;
    const { id, method } = message;
    const key = JSON.stringify(id ?? null);
    const cancel = new AbortController();
    const isModern = isJsonObject(params['_meta']) && params['_meta'][metaVersion] !== undefined;
    if (isModern && id !== undefined) this.#cancels.set(key, cancel);
    try {
      for (const session of sessionsIn(params)) await this.#adopt(session);
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        ...(isModern ? modernHeaders(String(method), params) : this.#connection),
      };
      const url = 'http://localhost/mcp';
      const request = { method: 'POST', headers, body: line, signal: cancel.signal };
      const response = await fetch(new Request(url, request));
      if (method === 'initialize') this.#noteConnection(response);
      if (method === 'resources/subscribe' && !isModern) this.#listening ??= this.#listen();
      await this.#forward(response, id);
    } catch (error) {
      if (cancel.signal.aborted || id === undefined) return;
      const text = error instanceof Error ? error.message : String(error);
      await write(errorLine(id, text));
    } finally {
      if (this.#cancels.get(key) === cancel) this.#cancels.delete(key);
    }
  }

  /** Forwards the notifications of the connection, until the client has sent its last line. */
  async #listen(): Promise<void> {
    const { signal } = this.#closed;
    const headers = {
      accept: 'text/event-stream',
      authorization: `Bearer ${this.#options.token}`,
      ...this.#connection,
    };
    try {
      const request = new Request('http://localhost/mcp', { headers, signal });
      await this.#forward(await this.#options.fetch(request), undefined);
    } catch {
      // An error here is ignored. The program may be ending. Otherwise a client that lost the stream opens
      // it again when it subscribes to a resource.
    } finally {
      if (!signal.aborted) this.#listening = undefined;
    }
  }

  async #adopt(session: string): Promise<void> {
    if (this.#known.has(session)) return;
    this.#known.add(session);
    await this.#options.adopt(session);
  }

  #noteConnection({ headers }: Response): void {
    const session = headers.get('mcp-session-id');
    if (session !== null) this.#connection = { 'mcp-session-id': session };
  }

  /** Writes the messages of a response. Each message is one line. */
  async #forward(response: Response, id: JsonValue | undefined): Promise<void> {
    const { write } = this.#options;
    if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body) {
      for await (const data of readSseData(response, { maxEventLength })) await write(data);
      return;
    }
    const text = await response.text();
    if (text === '') return;
    const read = parseJson(text);
    const isMessage = read.ok && isJsonObject(read.value) && read.value['jsonrpc'] === '2.0';
    if (isMessage) return write(JSON.stringify(read.value));
    const reason = read.ok && isJsonObject(read.value) ? read.value['message'] : undefined;
    if (id !== undefined) await write(errorLine(id, String(reason ?? 'The server failed')));
  }
}

function errorLine(id: JsonValue, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_603, message } });
}

/** Returns the headers that repeat fields of the body. Clients send them only over HTTP. */
function modernHeaders(method: string, params: JsonObject): Record<string, string> {
  const { _meta: meta, name = params['uri'] ?? params['taskId'] } = params;
  const version = isJsonObject(meta) ? String(meta[metaVersion]) : '';
  return {
    'mcp-protocol-version': headerText(version),
    'mcp-method': headerText(method),
    ...(name !== undefined && { 'mcp-name': headerText(String(name)) }),
  };
}

function headerText(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !text.startsWith('=?base64?')) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** Returns the sessions that a request names. */
function sessionsIn({ arguments: args, taskId, requestState, uri }: JsonObject): readonly string[] {
  const given = isJsonObject(args) ? args['session_id'] : undefined;
  const [, ofRun] = /^run_(.+)_\d+/.exec(String(taskId ?? requestState ?? '')) ?? [];
  const [, ofUri] = /^millrace:\/\/sessions\/([^/?#]+)/.exec(String(uri ?? '')) ?? [];
  return [given, ofRun, ofUri].filter((one): one is string => typeof one === 'string' && isId(one));
}
