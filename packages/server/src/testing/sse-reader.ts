import { type ClientRequest, type IncomingMessage, request } from 'node:http';

interface SseOptions {
  readonly port: number;
  readonly path: string;
  readonly lastEventId?: string | undefined;
  readonly onMessage?: ((message: SseMessage) => void) | undefined;
}

/** One connection to an event stream. */
export class SseReader {
  readonly messages: SseMessage[] = [];
  readonly parser = new SseParser();
  readonly #request: ClientRequest;
  readonly #onMessage: ((message: SseMessage) => void) | undefined;
  readonly #waiting = new Set<() => void>();
  #response: IncomingMessage | undefined;
  #text = '';
  isEnded = false;
  /** The error that ended the connection. Undefined while it is open or after a normal end. */
  error: Error | undefined;

  constructor({ port, path, lastEventId, onMessage }: SseOptions) {
    this.#onMessage = onMessage;
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    this.#request = request({ port, host: '127.0.0.1', path, headers, agent: false });
    this.#request.on('error', (error) => this.#end(error));
    this.#request.on('response', (response) => this.#read(response));
    this.#request.end();
  }

  get status(): number | undefined {
    return this.#response?.statusCode;
  }

  get headers(): IncomingMessage['headers'] {
    return this.#response?.headers ?? {};
  }

  /** All text that was received. */
  get text(): string {
    return this.#text;
  }

  /** Stops reading, so that the buffers of the connection fill up. */
  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  disconnect(): void {
    this.#request.destroy();
  }

  /** Resolves when the condition is true or the connection has ended. */
  async waitUntil(isSo: (reader: this) => boolean): Promise<void> {
    while (!isSo(this) && !this.isEnded) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  async waitForEnd(): Promise<this> {
    await this.waitUntil(() => false);
    return this;
  }

  #read(response: IncomingMessage): void {
    this.#response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.#text += text;
      for (const message of this.parser.add(text)) {
        this.messages.push(message);
        this.#onMessage?.(message);
      }
      this.#wake();
    });
    response.on('end', () => this.#end(undefined));
    response.on('error', (error) => this.#end(error));
    this.#wake();
  }

  #end(error: Error | undefined): void {
    this.isEnded = true;
    this.error ??= error;
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

/** One event, in the form that a browser receives. */
export interface SseMessage {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Parses an event stream according to the specification. It shares no code with the server. */
export class SseParser {
  #text = '';
  #id: string | undefined;
  #event = '';
  #data: string[] = [];
  retryMs: number | undefined;
  comments = 0;

  /** The id of the last complete event. */
  lastId: string | undefined;

  add(text: string): readonly SseMessage[] {
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): SseMessage | undefined {
    if (line === '') return this.#dispatch();
    if (line.startsWith(':')) {
      this.comments++;
      return undefined;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') this.#id = value;
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#data.push(value);
    if (field === 'retry') this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): SseMessage | undefined {
    this.lastId = this.#id;
    const [event, data] = [this.#event || 'message', this.#data];
    this.#event = '';
    this.#data = [];
    return data.length === 0 ? undefined : { id: this.#id, event, data: data.join('\n') };
  }
}
