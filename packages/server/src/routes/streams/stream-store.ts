import { createHash } from 'node:crypto';
import { type DraftRecord, isMillraceError, type SessionId, sessionId } from '@millrace/core';
import { type Clock, type ForkOptions, type Log, sessionStates } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import {
  dataOf,
  expiryOf,
  foldStream,
  type StreamConfig,
  type StreamData,
  type StreamFact,
  type StreamState,
  streamDraft,
  streamFold,
} from './stream-state.ts';

/** A stream that exists. */
export interface StoredStream {
  readonly session: SessionId;
  readonly incarnation: string;
  /** The offset of the last record of the session. */
  readonly through: number;
  readonly config: StreamConfig;
  readonly state: StreamState;
}

/** `gone` means that a client deleted the stream, or that it expired, while it still had forks. */
export type FoundStream = StoredStream | 'gone' | undefined;

/** A decision about a request: the facts to write, and the result. */
export interface Decision<T> {
  readonly facts: readonly StreamFact[];
  readonly result: T;
}

/** A result, and the stream after the facts were written. */
interface Written<T> {
  readonly result: T;
  readonly stream: StoredStream | undefined;
}

/** Maximum number of times that a write starts again because another process wrote the stream. */
const maxTries = 20;

/** A stream with a time to live stores a read only after this part of the time. */
const useFraction = 1 / 8;

const stores = new WeakMap<Log, StreamStore>();

/** Returns the streams of a log. All callers in the process share them. */
export function streamStore(log: Log, clock: Clock): StreamStore {
  const known = stores.get(log) ?? new StreamStore(log, clock);
  stores.set(log, known);
  return known;
}

/**
 * The streams that clients create. Each stream is a session of the log, and its state is a fold of the
 * session's records. A write decides and appends while it holds the lease of the session. Each append is one
 * record with the data and the number of the producer, so a crash cannot separate them.
 */
export class StreamStore {
  readonly #log: Log;
  readonly #clock: Clock;
  /** The last write of each session in this process. */
  readonly #writes = new Map<string, Promise<unknown>>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Finds a stream. Removes it if it expired, or if it was deleted and has no forks any more. */
  async find(path: string): Promise<FoundStream> {
    const stream = await this.#load(path);
    if (stream === undefined) return undefined;
    if (!this.#isOver(stream)) return stream;
    if (await this.#hasForks(stream)) return 'gone';
    await this.#remove(stream);
    return undefined;
  }

  /**
   * Writes to a stream. `decide` gets the current stream and must not have effects, because it can run
   * several times. The facts are stored together or not at all.
   */
  write<T>(path: string, decide: (stream: FoundStream) => Decision<T>): Promise<Written<T>> {
    return this.#enqueue(path, () => this.#write(path, decide));
  }

  /**
   * Creates a fork. `prepare` checks the request and returns the configuration of the fork and its first
   * facts. It returns a result instead if the fork exists or the request is refused.
   */
  fork<T>(
    path: string,
    prepare: () => Promise<
      | { readonly result: T; readonly stream?: StoredStream | undefined }
      | {
          readonly source: StoredStream;
          readonly through: number;
          readonly facts: readonly StreamFact[];
        }
    >,
    done: T,
    onCopy?: ForkOptions['onCopy'],
  ): Promise<Written<T>> {
    return this.#enqueue(path, () =>
      retry(async () => {
        const plan = await prepare();
        if ('result' in plan) return { result: plan.result, stream: plan.stream };
        const { source, through, facts } = plan;
        await this.write(source.config.path, (found) => {
          const isSame = isStored(found) && found.incarnation === source.incarnation;
          if (!isSame) throw streamNotFound(source.config.path);
          return { facts: [{ type: 'stream_forked', into: path }], result: undefined };
        });
        await this.#removeRest(path);
        const into = sessionOf(path);
        const { incarnation } = await this.#log.fork(source.session, {
          ...{ into, through, ...(onCopy && { onCopy }) },
        });
        const isNew = (current: StoredStream | undefined) => {
          if (current !== undefined) throw changed(path);
          return { facts, result: done };
        };
        return this.#append(path, isNew, { incarnation, through });
      }),
    );
  }

  /** Deletes a stream. A stream with forks keeps its records, and its path stays in use. */
  async delete(path: string): Promise<FoundStream> {
    const { result, stream } = await this.#enqueue(path, () =>
      this.#write<FoundStream>(path, (found) => {
        const facts: StreamFact[] = isStored(found) ? [{ type: 'stream_deleted' }] : [];
        return { facts, result: found };
      }),
    );
    // This removes the records if the stream has no forks. A source that waited for this fork is removed too.
    if (stream !== undefined) await this.find(path);
    if (stream?.config.fork !== undefined) await this.find(stream.config.fork.from);
    return result;
  }

  /** Stores that a client read the stream, if the stream has a time to live. */
  async use({ config, state }: StoredStream): Promise<void> {
    const { ttlSeconds } = config;
    if (ttlSeconds === undefined) return;
    if (this.#clock.now() - state.usedAt < ttlSeconds * 1000 * useFraction) return;
    await this.write(config.path, (found) => ({
      facts: isStored(found) ? [{ type: 'stream_used' }] : [],
      result: undefined,
    })).catch(() => {
      // If the storage is full, the read still succeeds. The stream then expires earlier.
    });
  }

  /** Returns the data of the first record with data after an offset. */
  async nextData(
    { session, through }: StoredStream,
    from: number,
  ): Promise<StreamData | undefined> {
    for (let at = from; at < through; ) {
      const batch = await this.#log.read(session, { from: at });
      const record = batch.records.find((one) => dataOf(one) !== undefined);
      if (record !== undefined) return dataOf(record);
      at = Math.max(batch.through, at + 1);
    }
    return undefined;
  }

  async #write<T>(path: string, decide: (stream: FoundStream) => Decision<T>): Promise<Written<T>> {
    return retry(async () => {
      const found = await this.find(path);
      // A refused request does not need the lease.
      const { facts, result } = decide(found);
      const stream = isStored(found) ? found : undefined;
      if (facts.length === 0) return { result, stream };
      if (stream === undefined) await this.#removeRest(path);
      return this.#append(path, decide, stream);
    });
  }

  /** Takes the lease, decides with the state under the lease, and appends the facts as one batch. */
  async #append<T>(
    path: string,
    decide: (stream: StoredStream | undefined) => Decision<T>,
    known: Pick<StoredStream, 'incarnation' | 'through'> | undefined,
  ): Promise<Written<T>> {
    const session = sessionOf(path);
    const from = known && { from: known.through, incarnation: known.incarnation };
    const driver = await this.#log.open(session, { holder: 'streams', takeOver: true, ...from });
    try {
      const { value, state, incarnation } = await sessionStates(this.#log).load(
        session,
        streamFold,
      );
      const isExpected =
        known === undefined ? state.through === 0 : known.incarnation === incarnation;
      if (!isExpected) throw changed(path);
      const current = toStream(session, path, value, incarnation, state.through);
      const { facts, result } = decide(current);
      if (facts.length === 0) return { result, stream: current };
      const drafts: readonly DraftRecord[] = facts.map(streamDraft);
      const { records, through } = await driver.append(drafts);
      const added = records.filter(({ offset }) => offset > state.through);
      const next = added.reduce(foldStream, value);
      return { result, stream: toStream(session, path, next, incarnation, through) };
    } finally {
      // The lease may be lost already. The next driver takes it over in any case.
      await driver.release().catch(() => {});
    }
  }

  async #load(path: string): Promise<StoredStream | undefined> {
    const session = sessionOf(path);
    try {
      const { value, state, incarnation } = await sessionStates(this.#log).load(
        session,
        streamFold,
      );
      return toStream(session, path, value, incarnation, state.through);
    } catch (error) {
      if (isMillraceError(error) && error.code === 'no_session') return undefined;
      throw error;
    }
  }

  /** Returns whether a client deleted the stream, or it expired. */
  #isOver({ state }: StoredStream): boolean {
    return state.isDeleted || this.#clock.now() >= expiryOf(state);
  }

  /**
   * Returns whether a direct fork of the stream exists. The work is at most one load per path in the list:
   * this method does not search the forks of forks. A deleted or expired fork that itself has forks also counts
   * as existing. It is removed together with its last fork.
   */
  async #hasForks({ state, incarnation }: StoredStream): Promise<boolean> {
    for (const path of state.forks) {
      const fork = await this.#load(path);
      // The path can be that of a later stream with another source.
      if (fork?.config.fork?.origins[0]?.incarnation !== incarnation) continue;
      if (!this.#isOver(fork) || fork.state.forks.length > 0) return true;
      await this.#log.delete(fork.session, { ifThrough: fork.through });
    }
    return false;
  }

  async #remove({ session, config, through }: StoredStream): Promise<void> {
    const wasDeleted = await this.#log.delete(session, { ifThrough: through });
    if (wasDeleted && config.fork !== undefined) await this.find(config.fork.from);
  }

  /** Removes the session of a fork whose process ended during the fork. The session contains no stream. */
  async #removeRest(path: string): Promise<void> {
    const info = await this.#log.info(sessionOf(path));
    if (info === undefined || info.through === 0) return;
    if ((await this.#load(path)) !== undefined) throw changed(path);
    await this.#log.delete(info.session, { ifThrough: info.through });
  }

  /** Runs the writes of a stream one after the other. */
  async #enqueue<T>(path: string, work: () => Promise<T>): Promise<T> {
    const earlier = this.#writes.get(path) ?? Promise.resolve();
    const running = earlier.then(work, work);
    this.#writes.set(path, running);
    try {
      return await running;
    } finally {
      if (this.#writes.get(path) === running) this.#writes.delete(path);
    }
  }
}

/** Returns whether a stream exists and was not deleted. */
export function isStored(stream: FoundStream): stream is StoredStream {
  return stream !== undefined && stream !== 'gone';
}

/** Returns the session of a stream. The hash gives every path a valid id of the same length. */
function sessionOf(path: string): SessionId {
  return sessionId(`stream-${createHash('sha256').update(path).digest('base64url')}`);
}

/** Returns the stream of a session. Returns undefined if the creation of the stream was not completed. */
function toStream(
  session: SessionId,
  path: string,
  state: StreamState,
  incarnation: string,
  through: number,
): StoredStream | undefined {
  const { config } = state;
  if (config === undefined || config.path !== path) return undefined;
  return { session, incarnation, through, config, state };
}

/** Runs work again if another process changed the session at the same time. */
async function retry<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isRace(error) || tries >= maxTries) throw error;
    }
  }
}

const raceCodes: ReadonlySet<string> = new Set([
  ...['fenced', 'held', 'no_session', 'session_exists', 'rewound'],
]);

function isRace(error: unknown): boolean {
  if (error instanceof ServerError) return error.details?.['reason'] === 'changed';
  return isMillraceError(error) && raceCodes.has(error.code);
}

function changed(path: string): ServerError {
  const message = `Cannot write the stream ${path}: another process changed it. Try again`;
  const details = { reason: 'changed' };
  return new ServerError('conflict', message, {}, { details });
}

/** Returns the error for a stream that does not exist, or that the caller may not use. */
export function streamNotFound(path: string): ServerError {
  return new ServerError(
    'not_found',
    `Cannot find the stream ${JSON.stringify(path.slice(0, 200))}`,
  );
}
