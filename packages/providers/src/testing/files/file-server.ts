import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@millrace/core';
import { requestFaults } from '../../scripted-server/rules/request-faults.ts';
import { type FileWire, fileWires, type WireName } from './file-wires.ts';

/** A file that the server stores. */
interface KeptFile {
  readonly id: string;
  readonly wire: WireName;
  readonly content: string;
  readonly mimeType: string;
  readonly expiresAtMs: number;
}

/**
 * The way in which an upload fails. `before`: the connection breaks and nothing is stored. `after`: the file
 * is stored, but the answer is lost. A number is an error status.
 */
export type UploadFailure = 'before' | 'after' | number;

/**
 * A server with the files APIs and the model APIs of OpenAI, Anthropic and Gemini. It checks every
 * request.
 */
export class FileServer {
  readonly files = new Map<string, KeptFile>();
  /** The contents in the order in which they were stored. */
  readonly stored: string[] = [];
  /** The bodies of model requests, in order. */
  readonly requests: JsonObject[] = [];
  /** The faults of requests that break a rule of the API. A correct client causes none. */
  readonly faults: string[] = [];
  /** The bodies of model requests that referred to a file that does not exist. */
  readonly deadReferences: JsonObject[] = [];
  /**
   * The failures of the next uploads, in order. An undefined entry means that the upload succeeds.
   */
  readonly failures: (UploadFailure | undefined)[] = [];
  /** The status with which deletions are answered. */
  deletionStatus = 200;
  /** The error with which model requests that refer to a file are answered. Default: none. */
  refusal: string | undefined;
  /** Called before an upload is stored. */
  onUpload: () => Promise<void> = async () => {};
  /** Called before the files of a model request are looked up and the request is answered. */
  onModel: () => Promise<void> = async () => {};
  /** The origin of Gemini's upload URLs. Default: the origin of this server. */
  uploadOrigin: string | undefined;
  /** The keys that clients sent to an upload URL. */
  readonly uploadKeys: string[] = [];
  /** The number of times that Gemini reports that it still processes a file. */
  processing = 0;
  readonly #now: () => number;
  readonly #server: Server;
  readonly #sessions = new Map<string, { readonly name: string; readonly mimeType: string }>();
  #count = 0;

  private constructor(now: () => number) {
    this.#now = now;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error) => {
        this.faults.push(String(error));
        response.destroy();
      });
    });
  }

  static async start(now: () => number): Promise<FileServer> {
    const server = new FileServer(now);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Returns the files that have not expired. */
  alive(): readonly KeptFile[] {
    return [...this.files.values()].filter((file) => file.expiresAtMs > this.#now());
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const url = new URL(request.url ?? '', this.url);
    const found = fileWires.find((wire) => wire.isFor(url, request));
    if (found === undefined) return send(response, 404, { error: { message: 'no such path' } });
    const key = found.keyOf(request);
    const session = url.searchParams.get('upload_id');
    if (session !== null) this.uploadKeys.push(key);
    if (key !== 'key-of-test' && session === null) {
      return send(response, 401, { error: { message: `bad key ${key}` } });
    }
    const route = found.routeOf(url, request);
    switch (route.type) {
      case 'model':
        await this.onModel();
        return this.#model(found, url, JSON.parse(body.toString()), response);
      case 'start': {
        const started = `s${++this.#count}`;
        const { file } = JSON.parse(body.toString()) as { file: { name: string } };
        const mimeType = String(request.headers['x-goog-upload-header-content-type']);
        this.#sessions.set(started, { name: file.name, mimeType });
        const origin = this.uploadOrigin ?? this.url;
        response.setHeader('x-goog-upload-url', `${origin}/upload/session?upload_id=${started}`);
        return send(response, 200, {});
      }
      case 'upload':
        return this.#upload(found, request, body, response);
      case 'get':
        return this.#get(found, route.id, response);
      case 'delete':
        return this.#delete(found, route.id, response);
    }
  }

  async #upload(
    wire: FileWire,
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    const failure = this.failures.shift();
    if (failure === 'before') return void response.destroy();
    if (typeof failure === 'number') {
      response.setHeader('retry-after-ms', '1');
      return send(response, failure, { error: { message: 'the storage is not available' } });
    }
    const session = this.#sessions.get(
      new URL(request.url ?? '', this.url).searchParams.get('upload_id') ?? '',
    );
    const sent = await wire.readUpload(request, body, session);
    if (typeof sent === 'string') {
      this.faults.push(sent);
      return send(response, 400, { error: { message: sent } });
    }
    await this.onUpload();
    const id = sent.name ?? `file-${++this.#count}`;
    const { content, mimeType, lifetimeMs } = sent;
    const expiresAtMs = this.#now() + lifetimeMs;
    const file = { id, wire: wire.name, content, mimeType, expiresAtMs };
    this.files.set(id, file);
    this.stored.push(content);
    if (failure === 'after') return void response.destroy();
    return send(response, 200, wire.uploadAnswer(this.#described(file)));
  }

  #described(file: KeptFile) {
    const state = this.processing-- > 0 ? 'PROCESSING' : 'ACTIVE';
    return { ...file, url: this.url, createdAtMs: this.#now(), state };
  }

  #find(wire: FileWire, id: string): KeptFile | undefined {
    return this.alive().find((file) => file.id === id && file.wire === wire.name);
  }

  #get(wire: FileWire, id: string, response: ServerResponse): void {
    const file = this.#find(wire, id);
    if (file === undefined) return send(response, ...wire.missing(id));
    return send(response, 200, wire.fileAnswer(this.#described(file)));
  }

  #delete(wire: FileWire, id: string, response: ServerResponse): void {
    if (this.deletionStatus !== 200) {
      response.setHeader('retry-after-ms', '1');
      return send(response, this.deletionStatus, { error: { message: 'not now' } });
    }
    if (this.#find(wire, id) === undefined) return send(response, ...wire.missing(id));
    this.files.delete(id);
    return send(response, 200, { id, deleted: true });
  }

  #model(wire: FileWire, url: URL, body: JsonObject, response: ServerResponse): void {
    this.requests.push(body);
    // In Gemini's API, the model is in the path.
    const [, model = body['model']] = /models\/([^:]+):/.exec(url.pathname) ?? [];
    this.faults.push(...requestFaults(wire.rulesFor(body), body, String(model)));
    const named = wire.namedFiles(body, this.url);
    const missing = named.find((id) => this.#find(wire, id) === undefined);
    if (missing !== undefined) {
      this.deadReferences.push(body);
      return send(response, ...wire.missing(missing));
    }
    if (named.length > 0 && this.refusal !== undefined) {
      return send(response, 400, { error: { message: this.refusal } });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      wire
        .events(body)
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join(''),
    );
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
