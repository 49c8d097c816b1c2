import type { Clock } from '../contract/clock.ts';
import type { LeaseRow, LeaseTicks, ProcessIdentity, SessionRow } from '../storage/rows.ts';
import { currentLease } from '../storage/session-row.ts';

/**
 * A clock for leases. Nobody can set this clock, unlike the system clock. If a log uses it, the time of day
 * in a lease is only for display.
 */
export interface LeaseClock {
  /** Identifies the clock. The times of two different clocks cannot be compared. */
  readonly id: string;
  /** Returns the milliseconds since a fixed moment. */
  now(): number;
}

/** The lease clock for a log in memory, whose leases only this process can see. */
export const processClock: LeaseClock = { id: 'process', now: () => performance.now() };

interface LeaseJudgeOptions {
  readonly clock: Clock;
  /** The clock that decides whether a lease has expired. Default: `clock`. */
  readonly leaseClock?: LeaseClock | undefined;
  /** Returns whether the process that holds a lease still runs. Returns `undefined` if this is unknown. */
  readonly isAlive?: ((process: ProcessIdentity) => boolean | undefined) | undefined;
}

/** A lease that a different clock measured, and the time at which this process first saw it. */
interface Sighting {
  readonly epoch: number;
  readonly expiresAt: number;
  readonly seenAt: number;
}

/** Maximum number of entries in `#sightings`. */
const maxSightings = 10_000;

/**
 * Decides whether a lease is still held. If this process's lease clock measured the lease, that clock
 * decides. If a different clock measured it, the lease counts as held until this process has seen it
 * unchanged for its whole duration.
 */
export class LeaseJudge {
  readonly #options: LeaseJudgeOptions;
  readonly #sightings = new Map<string, Sighting>();

  constructor(options: LeaseJudgeOptions) {
    this.#options = options;
  }

  /** Returns the time of the clock that decides about leases, in milliseconds. */
  now(): number {
    const { clock, leaseClock } = this.#options;
    return (leaseClock ?? clock).now();
  }

  /** Returns the times of a lease that starts now. */
  times(leaseMs: number): Pick<LeaseRow, 'expiresAt' | 'ticks'> {
    const { clock, leaseClock } = this.#options;
    const expiresAt = clock.now() + leaseMs;
    if (leaseClock === undefined || leaseMs === Number.POSITIVE_INFINITY) return { expiresAt };
    // The time is rounded, because each append stores this row, and a whole number is shorter.
    const until = Math.floor(leaseClock.now()) + leaseMs;
    return { expiresAt, ticks: { clock: leaseClock.id, expiresAt: until, leaseMs } };
  }

  /**
   * Returns the number of milliseconds for which the holder of the session's lease may still write. Returns 0
   * if no driver holds the lease.
   */
  remainingMs(row: SessionRow): number {
    const lease = currentLease(row);
    if (lease === undefined) return 0;
    const { isAlive } = this.#options;
    if (lease.process !== undefined && isAlive?.(lease.process) === false) return 0;
    return Math.max(0, this.#timeLeft(row, lease));
  }

  #timeLeft(row: SessionRow, { expiresAt, ticks }: LeaseRow): number {
    const { clock, leaseClock } = this.#options;
    if (expiresAt === Number.POSITIVE_INFINITY) return expiresAt;
    // A lease without ticks was written by an earlier version, or by a log whose caller passed a `clock`.
    if (leaseClock === undefined || ticks === undefined) return expiresAt - clock.now();
    const leftMs = ticks.expiresAt - leaseClock.now();
    const isSameClock = ticks.clock === leaseClock.id && leftMs <= ticks.leaseMs;
    return isSameClock ? leftMs : this.#unseenMs(row, ticks, leaseClock.now());
  }

  /**
   * Returns the remaining time of the lease in milliseconds. The duration starts when this process first saw
   * the lease.
   */
  #unseenMs({ session, epoch }: SessionRow, ticks: LeaseTicks, now: number): number {
    const { expiresAt, leaseMs } = ticks;
    const known = this.#sightings.get(session);
    if (known?.epoch === epoch && known.expiresAt === expiresAt)
      return leaseMs - (now - known.seenAt);
    if (this.#sightings.size >= maxSightings) this.#sightings.clear();
    this.#sightings.set(session, { epoch, expiresAt, seenAt: now });
    return leaseMs;
  }
}
