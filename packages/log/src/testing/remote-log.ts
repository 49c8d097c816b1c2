import {
  type Batch,
  type DraftRecord,
  decodeBatch,
  encodeDraft,
  type JsonObject,
} from '@millrace/core';
import type { FollowOptions, OpenOptions, SubmitResult } from '../contract/log.ts';
import type { Admission, AdmitOptions, AppendAck } from '../contract/producer.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import type { SqliteLogOptions } from '../sqlite/sqlite-log.ts';
import { type Exit, startProcess } from './start-process.ts';

/** The error of a call that failed in another process. */
class RemoteError extends Error {
  readonly code: string;
  readonly place: RemoteFailure['place'];

  constructor({ code, message, place }: RemoteFailure) {
    super(message);
    this.code = code;
    this.place = place;
  }
}

interface ReceivedBatch extends Batch {
  /** The time at which the batch arrived, measured by the clock that all processes of a machine share. */
  readonly receivedAt: number;
}

/** A log in another process, and the events that it reports. */
export interface RemoteLog extends AsyncDisposable {
  readonly pid: number;
  readonly exit: Promise<Exit>;
  call<Name extends keyof LogCalls>(
    name: Name,
    ...args: Parameters<LogCalls[Name]>
  ): Promise<ReturnType<LogCalls[Name]>>;
  append(driver: number, drafts: readonly DraftRecord[]): Promise<Batch>;
  produce(
    producer: number,
    drafts: readonly DraftRecord[],
    sequence: number,
  ): Promise<ReturnType<LogCalls['produceDrafts']>>;
  /** Returns the next batch that a follower in that process received. */
  nextBatch(): Promise<ReceivedBatch>;
  /** Returns the error of the next driver in that process that loses its lease. */
  nextLoss(): Promise<RemoteFailure>;
  kill(signal: NodeJS.Signals): void;
  /** Closes the log and ends the process. */
  end(): Promise<void>;
}

export interface RemoteOptions extends Omit<SqliteLogOptions, 'path' | 'clock' | 'onPoint'> {
  /** The schema in Postgres. Default: the default of `postgresLog`. */
  readonly schema?: string;
}

/** Starts a process with a log in a SQLite file, or in Postgres if `path` is a URL. */
export async function startRemoteLog(
  path: string,
  options: RemoteOptions = {},
): Promise<RemoteLog> {
  const calls = new Map<number, PromiseWithResolvers<unknown>>();
  const batches = new AsyncQueue<ReceivedBatch>();
  const losses = new AsyncQueue<RemoteFailure>();
  let last = 0;
  const onTold = (value: unknown) => {
    const message = value as ProcessMessage;
    if (message.type === 'answer') calls.get(message.id)?.resolve(message.value);
    if (message.type === 'error') calls.get(message.id)?.reject(new RemoteError(message.error));
    if (message.type === 'lost') losses.put(message.error);
    if (message.type === 'batch')
      batches.put({ ...decodeBatch(message.batch), receivedAt: message.heardAt });
  };
  const answerTo = (id: number): Promise<unknown> => {
    const call = Promise.withResolvers<unknown>();
    calls.set(id, call);
    return call.promise;
  };
  const ready = answerTo(0);
  const program = new URL('programs/log-process.ts', import.meta.url);
  const args = [path, JSON.stringify(options)];
  const child = startProcess(program, { args, onMessage: onTold });
  const gone = child.exit.then(({ code, signal, stderr }) => {
    const error = {
      code: 'gone',
      message: `The process ended: ${code ?? signal} ${stderr}`,
      place: {},
    };
    for (const call of calls.values()) call.reject(new RemoteError(error));
    batches.close();
  });
  await ready;
  const call: RemoteLog['call'] = (name, ...args) => {
    const id = ++last;
    child.send({ id, call: name, args });
    return answerTo(id) as Promise<ReturnType<LogCalls[typeof name]>>;
  };
  return {
    pid: child.pid,
    exit: child.exit,
    call,
    append: async (driver, drafts) =>
      decodeBatch(await call('append', driver, drafts.map(encodeDraft))),
    produce: (producer, drafts, sequence) =>
      call('produceDrafts', producer, drafts.map(encodeDraft), sequence),
    nextBatch: () => batches.take(),
    nextLoss: () => losses.take(),
    kill: (signal) => child.kill(signal),
    end: () => {
      child.end();
      return gone;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** A queue whose readers can wait for the next value. */
class AsyncQueue<T> {
  readonly #letters: T[] = [];
  readonly #waiting: PromiseWithResolvers<T>[] = [];

  put(letter: T): void {
    const first = this.#waiting.shift();
    if (first === undefined) this.#letters.push(letter);
    else first.resolve(letter);
  }

  take(): Promise<T> {
    const letter = this.#letters.shift();
    if (letter !== undefined) return Promise.resolve(letter);
    const waiting = Promise.withResolvers<T>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  close(): void {
    for (const { reject } of this.#waiting) reject(new Error('The process has ended'));
  }
}

/**
 * The calls that a test can make to a log in another process. Drafts and batches are encoded as
 * JSON lines. Numbers identify drivers and producers.
 */
export interface LogCalls {
  open(session: string, options: OpenOptions): { readonly driver: number; readonly epoch: number };
  append(driver: number, drafts: readonly string[]): string;
  admit(driver: number, options: AdmitOptions): Admission;
  release(driver: number): null;
  closeSession(driver: number): string;
  produce(admission: Admission): OpenedProducer;
  produceDrafts(producer: number, drafts: readonly string[], sequence: number): AppendAck;
  submit(session: string, command: JsonObject, key: string): SubmitResult;
  read(session: string, from: number): string;
  info(session: string): SessionInfo | null;
  delete(session: string): boolean;
  /** Starts to follow a session. The batches arrive as separate messages. */
  follow(session: string, options: Pick<FollowOptions, 'from' | 'until'>): null;
  /** Sets the wall clock of the process ahead of the correct time by this many milliseconds. */
  stepClock(ms: number): null;
  close(): null;
}

interface OpenedProducer {
  readonly producer: number;
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
}

export type CallMessage = {
  readonly [Name in keyof LogCalls]: {
    readonly id: number;
    readonly call: Name;
    readonly args: Parameters<LogCalls[Name]>;
  };
}[keyof LogCalls];

export interface RemoteFailure {
  readonly code: string;
  readonly message: string;
  readonly place: Readonly<Record<string, unknown>>;
}

export type ProcessMessage =
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: RemoteFailure }
  | { readonly type: 'lost'; readonly driver: number; readonly error: RemoteFailure }
  /**
   * A batch that a follower received. `heardAt` is the time, measured by the clock that all processes of a
   * machine share.
   */
  | {
      readonly type: 'batch';
      readonly session: string;
      readonly batch: string;
      readonly heardAt: number;
    }
  | {
      readonly type: 'ended';
      readonly session: string;
      readonly error?: RemoteFailure | undefined;
    };
