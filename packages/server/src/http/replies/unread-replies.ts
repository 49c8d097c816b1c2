import type { Clock } from '@millrace/log';
import type { HttpResponse } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';

/** Maximum number of bytes in the replies that the callers with the same restricted rights have not read. */
const maxUnreadBytes = 64 * 2 ** 20;

/**
 * The replies that clients have not read completely. A reply waits in the memory of the server, so a client
 * that reads nothing for some time is disconnected. Callers without full access have a limit for all their
 * unread replies together.
 */
export class UnreadReplies {
  readonly #clock: Clock;
  readonly #stallTimeoutMs: number;
  /** The number of unread bytes of each restricted caller. */
  readonly #bytes = new Map<string, number>();
  /** The promises that resolve when a restricted caller has read its replies, by caller. */
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();

  constructor(clock: Clock, stallTimeoutMs: number) {
    this.#clock = clock;
    this.#stallTimeoutMs = stallTimeoutMs;
  }

  /** Throws `rate_limited` if a restricted caller has too many unread replies. */
  assertCapacity(restricted: string | undefined): void {
    if (!this.#isFull(restricted)) return;
    const message = `Cannot send another reply: ${maxUnreadBytes / 2 ** 20} MiB of earlier replies were not read. Read them first`;
    throw new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
  }

  /**
   * Returns undefined if the caller can get more bytes. Otherwise it returns a promise for the moment at which
   * the caller has read. Others may continue at the same moment, so ask again until the result is undefined, and
   * write directly after it.
   */
  full(restricted: string | undefined): Promise<void> | undefined {
    if (restricted === undefined || !this.#isFull(restricted)) return undefined;
    const waiting = this.#waiting.get(restricted) ?? Promise.withResolvers<void>();
    this.#waiting.set(restricted, waiting);
    return waiting.promise;
  }

  #isFull(restricted: string | undefined): boolean {
    return restricted !== undefined && (this.#bytes.get(restricted) ?? 0) >= maxUnreadBytes;
  }

  /** Counts the unread bytes of a complete reply. Disconnects the client if it stops reading. */
  watch(response: HttpResponse, restricted: string | undefined): void {
    if (response.destroyed || response.writableLength === 0) return;
    response.once('close', this.#hold(response, restricted));
  }

  /** Waits until the client has read. Meanwhile it does the same as `watch`. */
  drained(response: HttpResponse, restricted: string | undefined): Promise<void> {
    return new Promise((resolve) => {
      const release = this.#hold(response, restricted);
      const settle = () => {
        release();
        response.off('drain', settle);
        response.off('close', settle);
        resolve();
      };
      response.on('drain', settle);
      response.on('close', settle);
      if (response.destroyed) settle();
    });
  }

  /** Counts bytes of a reply that is in memory and not written yet, until the result is called. */
  count(restricted: string | undefined, bytes: number): () => void {
    if (restricted === undefined) return () => {};
    this.#bytes.set(restricted, (this.#bytes.get(restricted) ?? 0) + bytes);
    return () => {
      const left = (this.#bytes.get(restricted) ?? 0) - bytes;
      if (left > 0) this.#bytes.set(restricted, left);
      else this.#bytes.delete(restricted);
      if (this.#isFull(restricted)) return;
      this.#waiting.get(restricted)?.resolve();
      this.#waiting.delete(restricted);
    };
  }

  /** Counts the unread bytes, and checks at intervals whether the client reads, until the result is called. */
  #hold(response: HttpResponse, restricted: string | undefined): () => void {
    let unread = response.writableLength;
    const release = this.count(restricted, unread);
    let stop = () => {};
    const wait = () => {
      stop = this.#clock.after(this.#stallTimeoutMs, check, { isIdle: true });
    };
    const check = () => {
      const left = response.writableLength;
      if (left >= unread) return void response.destroy();
      unread = left;
      wait();
    };
    wait();
    return () => {
      stop();
      release();
    };
  }
}
