import { type Ids, isMillraceError, type SessionId, sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import { SharedRead } from './shared-read.ts';

interface StorageHealthOptions {
  readonly log: Log;
  readonly rows: Rows;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly onDiagnostic: (problem: string) => void;
}

/** The reason why writes fail. Clients may see this text. */
type Failure = 'its storage is full' | 'its storage refuses writes';

/** Maps the error codes of failed writes to the reason. */
const failures: Readonly<Record<string, Failure>> = {
  storage_full: 'its storage is full',
  storage: 'its storage refuses writes',
};

/** The minimum time between two probes while writes fail, in milliseconds. */
const probeMs = 1000;
/** The content of a probe. It is larger than the space that can remain free in a page or on a full disk. */
const probeText = 'x'.repeat(2 ** 16);

/**
 * Tracks whether the stores accept writes. After a failed write was reported, the server is not ready until a
 * probe succeeds. As long as no write has failed, this class writes nothing.
 */
export class StorageHealth {
  readonly #options: StorageHealthOptions;
  readonly #session: SessionId;
  #failure: Failure | undefined;
  #probing: Promise<void> | undefined;
  #probedAt = Number.NEGATIVE_INFINITY;
  /** The check whether the stores can be read. */
  readonly #check: SharedRead<void>;

  constructor(options: StorageHealthOptions) {
    this.#options = options;
    this.#session = sessionId(`probe-${options.ids.session()}`);
    this.#check = new SharedRead(options.clock, () => this.#read());
  }

  /** Reports an error. Errors that do not come from the storage have no effect. */
  report(error: unknown): void {
    const failure = failureOf(error);
    if (failure === undefined) return;
    const isNew = this.#failure !== failure;
    this.#failure = failure;
    if (!isNew) return;
    const why = error instanceof Error ? error.message : '';
    this.#options.onDiagnostic(`The server is not ready: ${failure}. ${why}`);
  }

  /** Throws `unavailable` while writes fail. It probes the storage at most once per second. */
  async assertWritable(): Promise<void> {
    if (this.#failure === undefined) return;
    const now = this.#options.clock.now();
    const isDue = Math.abs(now - this.#probedAt) >= probeMs;
    if (isDue && this.#probing === undefined) {
      this.#probedAt = now;
      this.#probing = this.#probe().finally(() => {
        this.#probing = undefined;
      });
    }
    await this.#probing;
    const reason = this.#failure;
    if (reason === undefined) return;
    const message = `The server is not ready: ${reason}. Make room or repair the storage; nothing that was stored is lost`;
    throw new ServerError(
      'unavailable',
      message,
      {},
      { details: { reason }, retryAfterMs: probeMs },
    );
  }

  /** Throws `unavailable` if the stores cannot be read. */
  assertReadable(): Promise<void> {
    return this.#check.get();
  }

  async #read(): Promise<void> {
    const { log, rows } = this.#options;
    try {
      await Promise.all([rows.list('agents', { limit: 1 }), log.list({ limit: 1 })]);
    } catch (error) {
      throw notReadable(error);
    }
  }

  /** Writes test data to both stores and removes it again. */
  async #probe(): Promise<void> {
    const { log, rows, onDiagnostic } = this.#options;
    const id = this.#session;
    try {
      const driver = await log.open(id, { holder: 'a check of the storage', takeOver: true });
      const fact = { type: 'aborted', reason: probeText } as const;
      await driver.append([{ turn: 0, attempt: 0, fact }]);
      await driver.release();
      await log.delete(id);
      await rows.put('spans', { id, keys: {}, data: { probeText } });
      await rows.delete('spans', id);
      this.#failure = undefined;
      onDiagnostic('The server is ready: its storage accepts writes again');
    } catch (error) {
      this.report(error);
    }
  }
}

function notReadable(cause: unknown): ServerError {
  const reason = 'its log or its rows cannot be read';
  const message = `The server is not ready: ${reason}. The server log has details`;
  return new ServerError('unavailable', message, {}, { cause, details: { reason } });
}

/**
 * Returns the reason why writes fail. It also searches the causes of the error. Returns undefined if the
 * error does not come from the storage.
 */
function failureOf(error: unknown): Failure | undefined {
  for (let one = error, depth = 0; isMillraceError(one) && depth < 5; one = one.cause, depth++) {
    const found = failures[one.code];
    if (found !== undefined) return found;
  }
  return undefined;
}
