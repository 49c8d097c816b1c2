import type { Clock } from '@millrace/log';

/** Options of the request log. */
export interface RequestLogOptions {
  /** `text` writes lines for people. `json` writes one JSON object per line. */
  readonly format: 'text' | 'json';
  /** Called with each line, without a line break. */
  readonly write: (line: string) => void;
}

export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  /** The path without the query, which may contain private data. */
  readonly path: string;
  /** The method of a JSON-RPC request. */
  readonly what?: string | undefined;
  readonly status: number;
  readonly durationMs: number;
  readonly address: string;
}

/** Logs requests, failed requests and failed runs. It never logs content or tokens. */
export class RequestLog {
  readonly #options: RequestLogOptions | undefined;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(options: RequestLogOptions | undefined, clock: Pick<Clock, 'now'>) {
    this.#options = options;
    this.#clock = clock;
  }

  request(request: LoggedRequest): void {
    const { id, method, path, what, status, durationMs, address } = request;
    const text = [method, path, what, status, `${durationMs} ms`, address, id];
    this.#write('request', { ...request }, text.filter((part) => part !== undefined).join(' '));
  }

  /**
   * Logs an unexpected error. It logs only the name and the stack, because the message may contain private
   * data.
   */
  failure(id: string, error: unknown): void {
    const { name, stack } = error instanceof Error ? error : { name: typeof error, stack: '' };
    const at = (stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 8)
      .map((line) => line.trim());
    this.#write('failure', { id, name, at }, `failure ${id}: ${name} ${at.join(' ')}`);
  }

  /** Logs an event of a run, such as a retry. The fields contain no content. */
  event = (kind: string, fields: Readonly<Record<string, string | number>>): void => {
    const text = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
    this.#write(kind, fields, `${kind} ${text.join(' ')}`);
  };

  #write(kind: string, fields: object, text: string): void {
    if (this.#options === undefined) return;
    const { format, write } = this.#options;
    const time = new Date(this.#clock.now()).toISOString();
    if (format === 'json') write(JSON.stringify({ time, kind, ...fields }));
    else write(`${time} ${printable(text)}`);
  }
}

/** Replaces characters that could break the line with `?`. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
