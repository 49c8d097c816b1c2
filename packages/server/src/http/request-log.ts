import type { Clock } from '@millrace/log';

export interface RequestLogOptions {
  /** A line for people, or one of JSON for programs. */
  readonly format: 'text' | 'json';
  readonly write: (line: string) => void;
}

export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  /** Without its query, which may hold what is nobody else's business. */
  readonly path: string;
  /** Of a JSON-RPC request. */
  readonly what?: string | undefined;
  readonly status: number;
  readonly durationMs: number;
  readonly address: string;
}

/** What was asked and how it went: never what was said, and no token. */
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

  /** Something that nobody foresaw. Its message may hold anything, so that only where it was is told. */
  failure(id: string, error: unknown): void {
    const { name, stack } = error instanceof Error ? error : { name: typeof error, stack: '' };
    const at = (stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 8)
      .map((line) => line.trim());
    this.#write('failure', { id, name, at }, `failure ${id}: ${name} ${at.join(' ')}`);
  }

  #write(kind: string, fields: object, text: string): void {
    if (this.#options === undefined) return;
    const { format, write } = this.#options;
    const time = new Date(this.#clock.now()).toISOString();
    if (format === 'json') write(JSON.stringify({ time, kind, ...fields }));
    else write(`${time} ${printable(text)}`);
  }
}

/** One line, whatever was asked for. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
