import type { LeaseClock } from '../engine/lease-clock.ts';
import type { ProcessIdentity } from '../storage/rows.ts';
import { webGlobals } from './web-platform.ts';

/** The prefix of the lock names. The id of the log follows it. */
const prefix = 'millrace log ';
/** Maximum number of ended logs in `#gone`. */
const maxGone = 1000;

/**
 * Shows other tabs that this log is in use. It holds a lock with its own name until its tab ends or the log
 * is closed. If the lock of a log no longer exists, another tab can take the leases of that log immediately,
 * for example after a reload. Without Web Locks, a lease is free only after it expires.
 */
export class TabPresence {
  readonly #id = crypto.randomUUID();
  readonly #released = Promise.withResolvers<void>();
  readonly #cancel = new AbortController();
  readonly #held: Promise<void>;
  /** The lease holders that `isAlive` was asked about since the last `findGone`. */
  readonly #asked = new Set<string>();
  readonly #gone = new Set<string>();

  constructor() {
    this.#held = this.#hold();
  }

  /** The identity of this log in its leases. Undefined without Web Locks. */
  get identity(): ProcessIdentity | undefined {
    if (webGlobals().navigator?.locks === undefined) return undefined;
    return { host: 'browser', boot: '', space: '', pid: 0, started: this.#id };
  }

  /**
   * The lease clock of this tab. Each tab has its own clock. A tab can take the lease of a frozen tab after
   * it has watched the lease for the lease's whole duration without seeing a change. Without Web Locks, the
   * clock is undefined, and leases expire by the time of day. Another tab can then take an expired lease
   * without watching it first.
   */
  get clock(): LeaseClock | undefined {
    return this.identity && { id: this.#id, now: () => performance.now() };
  }

  /** Resolves when this log holds its lock. The log must not take a lease before that. */
  ready(): Promise<void> {
    return this.#held;
  }

  /**
   * Returns false if an earlier `findGone` has found that the holder has ended. Otherwise returns
   * `undefined`, and the next `findGone` checks this holder.
   */
  readonly isAlive = ({ started }: ProcessIdentity): boolean | undefined => {
    if (this.#gone.has(started)) return false;
    this.#asked.add(started);
    return undefined;
  };

  /**
   * Looks for the locks of the holders that `isAlive` was asked about. Returns true if a lock no longer
   * exists. A log takes its lock only once, before its first lease. A holder without a lock has therefore
   * ended.
   */
  async findGone(): Promise<boolean> {
    const asked = [...this.#asked];
    this.#asked.clear();
    const locks = webGlobals().navigator?.locks;
    if (asked.length === 0 || locks === undefined) return false;
    const { held = [] } = await locks.query();
    const names = new Set(held.map(({ name }) => name));
    const gone = asked.filter((id) => !names.has(prefix + id));
    if (this.#gone.size + gone.length > maxGone) this.#gone.clear();
    for (const id of gone) this.#gone.add(id);
    return gone.length > 0;
  }

  close(): void {
    this.#cancel.abort();
    this.#released.resolve();
  }

  #hold(): Promise<void> {
    const locks = webGlobals().navigator?.locks;
    if (locks === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const hold = () => {
        resolve();
        return this.#released.promise;
      };
      const { signal } = this.#cancel;
      // A page that is being unloaded gets no lock. This is harmless, because its later calls fail anyway.
      locks.request(prefix + this.#id, { signal }, hold).catch(() => resolve());
    });
  }
}
