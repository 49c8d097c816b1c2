import { Worker } from 'node:worker_threads';
import type { Clock } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import type { ProviderChunk } from '@millrace/tools/extension';
import type { Env } from '../../contract/host.ts';
import {
  type FromWorker,
  fromWorkerSchema,
  type Registered,
  type ToWorker,
  type WorkerStart,
} from './extension-messages.ts';

// In the sources, the worker also runs from source. In the bundle, it is a file of its own.
const isSource = import.meta.url.endsWith('.ts');
const program = new URL(
  isSource ? './extension-worker.ts' : './worker/extension-worker.js',
  import.meta.url,
);
const execArgv = isSource ? ['--conditions=@millrace/source'] : [];
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };

/** The time in which an extension must have registered everything. */
const loadMs = 10_000;
/** Maximum number of lines that an extension may print in a session. */
const maxPrintedLines = 50;
const maxLineLength = 500;

interface ProcessOptions extends WorkerStart {
  readonly name: string;
  readonly env: Env;
  readonly clock: Clock;
  /** Called with a sentence about a failure after the start, and with each line that the extension prints. */
  readonly notify: (text: string) => void;
  readonly onStatus: (text: string) => void;
}

/** An error of a function of an extension. */
export class ExtensionError extends Error {
  /** The HTTP status that a provider has given to the error. */
  readonly status: number | undefined;

  constructor(problem: string, status?: number | undefined) {
    super(problem);
    this.status = status;
  }
}

interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called with each chunk of a provider. */
  readonly onChunk?: ((chunk: ProviderChunk) => void) | undefined;
}

interface OpenCall {
  readonly onChunk?: ((chunk: ProviderChunk) => void) | undefined;
  readonly resolve: (value: JsonValue | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** One extension in its own thread. If the thread ends, all its open and later calls fail. */
export class ExtensionProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  readonly #worker: Worker;
  readonly #calls = new Map<number, OpenCall>();
  readonly #loaded = Promise.withResolvers<Registered>();
  #nextId = 1;
  #printed = 0;
  /** The reason why the thread has ended. Undefined while it runs. */
  #end: string | undefined;

  constructor(options: ProcessOptions) {
    const { name, env, path, cwd, isOfProject, files } = options;
    this.name = name;
    this.#options = options;
    const workerData: WorkerStart = { path, cwd, isOfProject, files };
    this.#worker = new Worker(program, {
      ...{ workerData, resourceLimits, execArgv, env, stdout: true, stderr: true },
    });
    // An extension must not keep the program running after the chat.
    this.#worker.unref();
    this.#worker.on('message', (message: unknown) => this.#take(message));
    this.#worker.once('error', (error) => this.#stop(`it failed: ${errorText(error)}`));
    this.#worker.once('exit', () => this.#stop('its thread ended'));
    for (const stream of [this.#worker.stdout, this.#worker.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => this.#print(text));
    this.#loaded.promise.catch(() => {});
  }

  /** Returns what the extension has registered. Rejects if it fails, or if it is too slow. */
  async load(): Promise<Registered> {
    const cancel = this.#options.clock.after(loadMs, () =>
      this.#stop(`it did not load within ${loadMs / 1000} s`),
    );
    try {
      return await this.#loaded.promise;
    } finally {
      cancel();
    }
  }

  /** Calls a function of the extension. If it does not answer in time, its thread is ended. */
  async call(
    call: Omit<ToWorker & { readonly type: 'call' }, 'type' | 'id'>,
    { timeoutMs, signal, onChunk }: CallOptions,
  ): Promise<JsonValue | undefined> {
    signal?.throwIfAborted();
    if (this.#end !== undefined) throw this.#endError();
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<JsonValue | undefined>();
    this.#calls.set(id, { resolve, reject, onChunk });
    const cancel = this.#options.clock.after(timeoutMs, () =>
      this.#stop(`${call.name} did not answer within ${timeoutMs / 1000} s`),
    );
    const onAbort = () => {
      this.#send({ type: 'abort', id });
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#send({ type: 'call', id, ...call });
    try {
      return await promise;
    } finally {
      cancel();
      signal?.removeEventListener('abort', onAbort);
      this.#calls.delete(id);
    }
  }

  async close(): Promise<void> {
    this.#end ??= 'the session has ended';
    await this.#worker.terminate();
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #take(message: unknown): void {
    const parsed = fromWorkerSchema.safeParse(message);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const place = issue?.path.slice(1).join('.') ?? '';
      return this.#stop(`it sent an invalid value${place === '' ? '' : ` (${place})`}`);
    }
    this.#handle(parsed.data);
  }

  #handle(message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        return this.#loaded.resolve(message.registered);
      case 'failed':
        return this.#stop(message.problem);
      case 'status':
        return this.#options.onStatus(message.text);
      case 'chunk':
        return this.#calls.get(message.id)?.onChunk?.(message.chunk);
      case 'answer':
        return this.#calls.get(message.id)?.resolve(message.value);
      case 'error':
        return this.#calls
          .get(message.id)
          ?.reject(new ExtensionError(message.problem, message.status));
    }
  }

  #stop(reason: string): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#loaded.reject(this.#endError());
    for (const { reject } of this.#calls.values()) reject(this.#endError());
    void this.#worker.terminate();
    this.#options.notify(`The extension ${this.name} has stopped: ${reason}`);
  }

  #endError(): Error {
    return new Error(`The extension ${this.name} has stopped: ${this.#end}`);
  }

  #print(text: string): void {
    for (const line of text.split('\n')) {
      if (line.trim() === '' || this.#printed >= maxPrintedLines) continue;
      this.#printed++;
      this.#options.notify(`${this.name}: ${line.slice(0, maxLineLength)}`);
    }
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
