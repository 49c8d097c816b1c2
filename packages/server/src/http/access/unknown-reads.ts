import { ServerError } from '../../contract/server-error.ts';

/** Maximum number of reads that wait. A read can need some milliseconds. */
const maxWaiting = 200;

interface WaitingRead {
  readonly start: () => void;
  readonly refuse: (error: ServerError) => void;
}

/**
 * Reads of the store for clients whom the server has not accepted. Every client can cause such a read, also without a
 * valid token. They must not use all connections of a database, so only some of them run at the same time.
 */
export class UnknownReads {
  readonly #maxRunning: number;
  #running = 0;
  /** The reads that wait. Those for addresses that sent many wrong tokens start last. */
  readonly #waiting: Record<'usual' | 'suspect', WaitingRead[]> = { usual: [], suspect: [] };

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /**
   * Runs a read when it is its turn. Throws `unavailable` if too many reads wait. `isSuspect` is true for a client whose
   * address sent many wrong tokens.
   */
  async run<T>(read: () => Promise<T>, isSuspect = false): Promise<T> {
    if (this.#running < this.#maxRunning) this.#running++;
    else await this.#turn(isSuspect);
    try {
      return await read();
    } finally {
      const next = this.#waiting.usual.shift() ?? this.#waiting.suspect.shift();
      // The next read gets the place directly.
      if (next === undefined) this.#running--;
      else next.start();
    }
  }

  async #turn(isSuspect: boolean): Promise<void> {
    const { usual, suspect } = this.#waiting;
    if (usual.length + suspect.length >= maxWaiting) {
      const replaced = isSuspect ? undefined : suspect.pop();
      if (replaced === undefined) throw tooManyReads();
      replaced.refuse(tooManyReads());
    }
    const { promise, resolve: start, reject: refuse } = Promise.withResolvers<void>();
    (isSuspect ? suspect : usual).push({ start, refuse });
    await promise;
  }
}

function tooManyReads(): ServerError {
  const message =
    'Cannot answer now: too many clients without a known token send requests. Retry in a moment';
  return new ServerError('unavailable', message, {}, { retryAfterMs: 1000 });
}
