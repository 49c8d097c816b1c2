import { ServerError } from '../../contract/server-error.ts';

/** Maximum number of reads that run at the same time. A store has at least 4 connections. */
const maxRunning = 2;
/** Maximum number of look-ups that wait, if each read has only a few ids. A read can need some milliseconds. */
const fewWaiting = 200;
/** Maximum number of full reads that wait. */
const maxWaitingReads = 20;

interface UnknownReadsOptions<T> {
  /** Maximum number of ids in one read. */
  readonly batchSize: number;
  /** Reads the values of these ids. */
  readonly read: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;
}

type Waiting<T> = Map<string, PromiseWithResolvers<T | undefined>>;

/**
 * Look-ups in the store for clients whom the server has not accepted. Every client can cause such a look-up, also
 * without a valid token. They must not use all connections of a database, so few reads run at the same time, and each
 * of them answers all look-ups that have waited, up to `batchSize`.
 */
export class UnknownReads<T> {
  readonly #options: UnknownReadsOptions<T>;
  readonly #maxWaiting: number;
  #running = 0;
  /** The look-ups that wait, by id. Those for addresses that sent many wrong tokens start last. */
  readonly #waiting: Readonly<Record<'usual' | 'suspect', Waiting<T>>> = {
    usual: new Map(),
    suspect: new Map(),
  };

  constructor(options: UnknownReadsOptions<T>) {
    this.#options = options;
    this.#maxWaiting = Math.max(fewWaiting, maxWaitingReads * options.batchSize);
  }

  /**
   * Looks up an id when it is its turn. Throws `unavailable` if too many look-ups wait. `isSuspect` is true for a client
   * whose address sent many wrong tokens.
   */
  async find(id: string, isSuspect = false): Promise<T | undefined> {
    const lane = this.#waiting[isSuspect ? 'suspect' : 'usual'];
    const found = lane.get(id) ?? Promise.withResolvers<T | undefined>();
    if (!lane.has(id)) {
      this.#makeRoom(isSuspect);
      lane.set(id, found);
      this.#start();
    }
    return found.promise;
  }

  #makeRoom(isSuspect: boolean): void {
    const { usual, suspect } = this.#waiting;
    if (usual.size + suspect.size < this.#maxWaiting) return;
    const [oldest] = isSuspect ? [] : suspect;
    if (oldest === undefined) throw tooManyReads();
    const [id, replaced] = oldest;
    suspect.delete(id);
    replaced.reject(tooManyReads());
  }

  /** Starts reads for the look-ups that wait. */
  #start(): void {
    const { usual, suspect } = this.#waiting;
    while (this.#running < maxRunning) {
      const lane = usual.size > 0 ? usual : suspect;
      if (lane.size === 0) return;
      const batch = new Map([...lane].slice(0, this.#options.batchSize));
      for (const id of batch.keys()) lane.delete(id);
      this.#running++;
      void this.#read(batch);
    }
  }

  async #read(batch: Waiting<T>): Promise<void> {
    try {
      const found = await this.#options.read([...batch.keys()]);
      for (const [id, { resolve }] of batch) resolve(found.get(id));
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    }
    this.#running--;
    this.#start();
  }
}

function tooManyReads(): ServerError {
  const message =
    'Cannot answer now: too many clients without a known token send requests. Retry in a moment';
  return new ServerError('unavailable', message, {}, { retryAfterMs: 1000 });
}
