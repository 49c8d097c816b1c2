import type { LeaseClock } from '../engine/lease-clock.ts';
import type { ProcessIdentity } from '../storage/rows.ts';
import { webGlobals } from './web-platform.ts';

/** The names of the locks begin with this. The id of the log follows. */
const prefix = 'millrace log ';
/** Maximum number of ended logs to remember. */
const maxGone = 1000;

/**
 * Shows other tabs that this log is in use: it holds a lock with its own name until its tab ends or
 * the log is closed. A lease of a log whose lock is gone can be taken at once, for example after a
 * reload. Without Web Locks, leases only expire.
 */
export class TabPresence {
  readonly #id = crypto.randomUUID();
  readonly #released = Promise.withResolvers<void>();
  readonly #cancel = new AbortController();
  readonly #held: Promise<void>;
  /** The holders that a lease check asked about since the last search. */
  readonly #asked = new Set<string>();
  readonly #gone = new Set<string>();

  constructor() {
    this.#held = this.#hold();
  }

  /** The identity for leases of this log. Undefined without Web Locks. */
  get identity(): ProcessIdentity | undefined {
    if (webGlobals().navigator?.locks === undefined) return undefined;
    return { host: 'browser', boot: '', space: '', pid: 0, started: this.#id };
  }

  /**
   * The clock of this tab. Each tab has its own, so another tab takes the lease of a frozen one after
   * it has seen the lease unchanged for its whole duration. Undefined without Web Locks: nothing else
   * would then free the lease of an ended tab at once, so the time of day decides.
   */
  get clock(): LeaseClock | undefined {
    return this.identity && { id: this.#id, now: () => performance.now() };
  }

  /** Resolves when the lock is held. A log must not take a lease before. */
  ready(): Promise<void> {
    return this.#held;
  }

  /** False if the holder is known to be gone. Otherwise `undefined`, until `findGone` looked. */
  readonly isAlive = ({ started }: ProcessIdentity): boolean | undefined => {
    if (this.#gone.has(started)) return false;
    this.#asked.add(started);
    return undefined;
  };

  /**
   * Looks for the locks of the holders that `isAlive` was asked about. Returns true if one is gone.
   * A log takes its lock only once, before its first lease. A holder without a lock is therefore
   * gone for good.
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
      // A page that is being unloaded gets no lock. Its calls fail by themselves.
      locks.request(prefix + this.#id, { signal }, hold).catch(() => resolve());
    });
  }
}
