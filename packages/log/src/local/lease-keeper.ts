import type { ShelfWriter } from '../shelf/shelf.ts';
import { isRefusal } from './commits.ts';
import type { Store } from './store.ts';

export interface KeptLease {
  readonly leaseMs: number;
  /** Throws where it is not to be had any more. */
  readonly renew: (shelf: ShelfWriter) => void;
  /** The same without writing, for a lease that does not end. */
  readonly look: () => void | Promise<void>;
  readonly onLost: (error: unknown) => void;
}

/** How often is looked whether a lease without end was taken over; and the longest that a timer waits. */
const lookMs = 5000;
const longestMs = 3_600_000;

/** Renews a lease for as long as its holder lives, and finds out when somebody else has it. */
export class LeaseKeeper {
  readonly #store: Store;
  readonly #lease: KeptLease;
  readonly #isEndless: boolean;
  #cancel: () => void = () => {};
  #isOver = false;
  #expiresAt: number;

  constructor(store: Store, lease: KeptLease) {
    this.#store = store;
    this.#lease = lease;
    this.#isEndless = lease.leaseMs === Number.POSITIVE_INFINITY;
    this.#expiresAt = store.clock.now() + lease.leaseMs;
    this.#waitMore();
  }

  stop(): void {
    this.#isOver = true;
    this.#cancel();
  }

  #waitMore(): void {
    if (this.#isOver) return;
    const { clock } = this.#store;
    const waitMs = this.#isEndless ? lookMs : Math.min(this.#lease.leaseMs / 3, longestMs);
    this.#cancel = clock.after(waitMs, () => this.#keep(), { isIdle: true });
  }

  #keep(): void {
    const { renew, onLost, leaseMs } = this.#lease;
    const { clock, commits } = this.#store;
    const expiresAt = clock.now() + leaseMs;
    const kept = this.#isEndless ? this.#look() : commits.run(renew);
    kept.then(
      () => {
        this.#expiresAt = expiresAt;
        this.#waitMore();
      },
      (error: unknown) => {
        // A file that is locked for a moment may not be so the next time.
        if (!isRefusal(error) && clock.now() < this.#expiresAt) this.#waitMore();
        else if (!this.#isOver) onLost(error);
      },
    );
  }

  async #look(): Promise<void> {
    await this.#lease.look();
  }
}
