import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

export type ViewersCommand =
  | {
      readonly type: 'connect';
      readonly path: string;
      /** The text that each viewer waits for. */
      readonly mark: string;
      readonly lastEventId?: string | undefined;
      readonly isStalled?: boolean;
    }
  | {
      readonly type: 'await';
      readonly mark: string;
      readonly isTimed?: boolean;
      readonly isFresh?: boolean;
    }
  | { readonly type: 'disconnect' };

export interface ViewersReport {
  readonly at: number;
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

/** Controls many viewers that run in another process. */
export class Viewers implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #reports: ViewersReport[] = [];
  #wake: (() => void) | undefined;

  private constructor(port: number, count: number) {
    const path = join(import.meta.dirname, 'viewers-program.ts');
    this.#child = fork(path, [String(port), String(count)]);
    this.#child.on('message', (report: ViewersReport) => {
      this.#reports.push(report);
      this.#wake?.();
    });
  }

  static async start(port: number, count: number): Promise<Viewers> {
    const viewers = new Viewers(port, count);
    await viewers.#next();
    return viewers;
  }

  /**
   * Connects all viewers again and waits until each viewer has received the mark. `{index}` in the
   * path is replaced by the number of the viewer.
   */
  async connect(
    path: string,
    mark: string,
    options: { readonly lastEventId?: string; readonly isStalled?: boolean } = {},
  ) {
    await this.#sendCommand({ type: 'connect', path, mark, ...options });
    return this.#next();
  }

  /** Returns a function that waits until each viewer has received the mark. */
  async expect(
    mark: string,
    options: { readonly isTimed?: boolean; readonly isFresh?: boolean } = {},
  ): Promise<() => Promise<ViewersReport>> {
    await this.#sendCommand({ type: 'await', mark, ...options });
    return () => this.#next();
  }

  async disconnect(): Promise<void> {
    await this.#sendCommand({ type: 'disconnect' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = new Promise((resolve) => this.#child.on('exit', resolve));
    this.#child.kill();
    await exited;
  }

  async #sendCommand(command: ViewersCommand): Promise<void> {
    this.#child.send(command);
    await this.#next();
  }

  async #next(): Promise<ViewersReport> {
    for (;;) {
      const report = this.#reports.shift();
      if (report !== undefined) return report;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
