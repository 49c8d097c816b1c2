import type { ServerResponse } from 'node:http';
import { ServerError } from '../contract/server-error.ts';

/**
 * Answers that write themselves for as long as it takes, by who asked: nobody has all connections for
 * himself, and whose token is revoked hears no more.
 */
export class OpenStreams {
  readonly #most: number;
  readonly #byCaller = new Map<string, Set<ServerResponse>>();

  constructor(mostOfOneCaller: number) {
    this.#most = mostOfOneCaller;
  }

  /** Throws where a caller has too many already. */
  assertRoom(caller: string): void {
    if ((this.#byCaller.get(caller)?.size ?? 0) < this.#most) return;
    const message = `Cannot open more than ${this.#most} streams of one caller. Close some`;
    throw new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
  }

  /** Until its connection is closed. */
  add(caller: string, response: ServerResponse): void {
    const open = this.#byCaller.get(caller) ?? new Set();
    this.#byCaller.set(caller, open.add(response));
    response.once('close', () => {
      open.delete(response);
      if (open.size === 0 && this.#byCaller.get(caller) === open) this.#byCaller.delete(caller);
    });
  }

  /** Hangs up on a caller. */
  cut(caller: string): void {
    for (const response of this.#byCaller.get(caller) ?? []) response.destroy();
  }
}
