import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

export type ViewersOrder =
  | {
      readonly type: 'connect';
      readonly path: string;
      /** What each of them waits for. */
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
  | { readonly type: 'leave' };

export interface ViewersReport {
  readonly at: number;
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

/** A crowd of readers in another process. */
export class Viewers implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #reports: ViewersReport[] = [];
  #wake: (() => void) | undefined;

  private constructor(port: number, count: number) {
    const path = join(import.meta.dirname, 'viewers-process.ts');
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

  /** `{index}` in the path is the reader's own number. All of them connect, anew where they were, and each has got the mark. */
  async connect(
    path: string,
    mark: string,
    options: { readonly lastEventId?: string; readonly isStalled?: boolean } = {},
  ) {
    await this.#order({ type: 'connect', path, mark, ...options });
    return this.#next();
  }

  /** Resolves, when the returned function is called, once each of them has got the mark. */
  async expect(
    mark: string,
    options: { readonly isTimed?: boolean; readonly isFresh?: boolean } = {},
  ): Promise<() => Promise<ViewersReport>> {
    await this.#order({ type: 'await', mark, ...options });
    return () => this.#next();
  }

  async leave(): Promise<void> {
    await this.#order({ type: 'leave' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = new Promise((resolve) => this.#child.on('exit', resolve));
    this.#child.kill();
    await gone;
  }

  async #order(order: ViewersOrder): Promise<void> {
    this.#child.send(order);
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
