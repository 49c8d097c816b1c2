import type { Clock } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import type { CopyLimit } from '../../contract/service.ts';

/** Each copy uses at least this part of the limit, because a short copy has costs too. */
const minCopyBytes = 2 ** 16;

/** Maximum number of callers in memory. Above it, callers that can use their whole limit are removed. */
const maxCallers = 10_000;

const hourMs = 3_600_000;

interface Usage {
  /** The bytes that the caller can copy. It is negative if the last copy was larger than the rest. */
  left: number;
  /** The time to which `left` belongs. */
  at: number;
  isCopying: boolean;
}

/**
 * Limits the copies of callers without full access. One small request can copy a long session, so each caller
 * has one copy at a time and a number of bytes for each hour. All endpoints that copy share these numbers.
 */
export class CopyLimits {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #perHour: number;
  readonly #callers = new Map<string, Usage>();

  constructor(clock: Pick<Clock, 'now'>, bytesPerHour: number) {
    this.#clock = clock;
    this.#perHour = bytesPerHour;
  }

  /** Returns the limit of a caller. Returns undefined for a caller with full access, which has no limit. */
  of(restricted: string | undefined): CopyLimit | undefined {
    if (restricted === undefined) return undefined;
    return {
      assertIdle: () => this.#assertIdle(this.#usage(restricted)),
      assertFree: () => this.#assertFree(this.#usage(restricted)),
      run: (copy) => this.#run(restricted, copy),
    };
  }

  async #run<T>(caller: string, copy: (onCopy: (bytes: number) => void) => Promise<T>): Promise<T> {
    const usage = this.#usage(caller);
    this.#assertFree(usage);
    usage.isCopying = true;
    let copied = 0;
    let refusal: ServerError | undefined;
    const onCopy = (bytes: number) => {
      copied += bytes;
      usage.left -= bytes;
      if (usage.left >= 0) return;
      refusal = copied > this.#perHour ? this.#tooLarge() : this.#usedUp(usage);
      throw refusal;
    };
    try {
      return await copy(onCopy);
    } catch (error) {
      // `copy` can catch the refusal and throw a different error. The caller must get the refusal.
      throw refusal ?? error;
    } finally {
      usage.left -= Math.max(0, minCopyBytes - copied);
      usage.isCopying = false;
    }
  }

  #usage(caller: string): Usage {
    const now = this.#clock.now();
    const usage = this.#callers.get(caller) ?? { left: this.#perHour, at: now, isCopying: false };
    this.#refill(usage, now);
    if (!this.#callers.has(caller)) this.#add(caller, usage, now);
    return usage;
  }

  #refill(usage: Usage, now: number): void {
    const gained = (Math.max(0, now - usage.at) * this.#perHour) / hourMs;
    usage.left = Math.min(this.#perHour, usage.left + gained);
    usage.at = now;
  }

  #add(caller: string, usage: Usage, now: number): void {
    this.#callers.set(caller, usage);
    if (this.#callers.size <= maxCallers) return;
    for (const [known, other] of this.#callers) {
      this.#refill(other, now);
      if (other.left >= this.#perHour && !other.isCopying) this.#callers.delete(known);
    }
  }

  #assertIdle({ isCopying }: Usage): void {
    if (!isCopying) return;
    const message = 'Cannot copy now: another copy of this caller runs. Try again in a moment';
    throw new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
  }

  #assertFree(usage: Usage): void {
    this.#assertIdle(usage);
    if (usage.left < minCopyBytes && usage.left < this.#perHour) throw this.#usedUp(usage);
  }

  #usedUp({ left }: Usage): ServerError {
    const retryAfterMs = Math.ceil(((this.#perHour - left) / this.#perHour) * hourMs);
    const message = `Cannot copy now: this caller has copied its ${this.#perHour} bytes for one hour. Try again later, copy fewer records, or ask the operator to raise \`limits.copiedBytesPerHour\``;
    return new ServerError('rate_limited', message, {}, { retryAfterMs });
  }

  #tooLarge(): ServerError {
    const message = `Cannot copy: the records before this place have more than ${this.#perHour} bytes, which is the limit for one hour. Copy fewer records, or ask the operator to raise \`limits.copiedBytesPerHour\``;
    return new ServerError('too_large', message);
  }
}
