import type { Clock } from '../contract/clock.ts';
import type { LeaseRow, LeaseTicks, ProcessIdentity, SessionRow } from '../storage/rows.ts';
import { currentLease } from '../storage/session-row.ts';

/** A clock that nobody can set, for leases. The time of day in a lease is only for display then. */
export interface LeaseClock {
  /** Identifies the clock. Times of different clocks cannot be compared. */
  readonly id: string;
  /** Milliseconds since a fixed moment. */
  now(): number;
}

/** The clock of one process that shares its leases with no other. */
export const processClock: LeaseClock = { id: 'process', now: () => performance.now() };

interface LeaseJudgeOptions {
  readonly clock: Clock;
  /** Default: `clock` decides about leases. */
  readonly leaseClock?: LeaseClock | undefined;
  /** Whether the process that holds a lease still runs. `undefined` if it is not known. */
  readonly isAlive?: ((process: ProcessIdentity) => boolean | undefined) | undefined;
}

/** A lease that another clock measured, and when this process saw it first. */
interface Sighting {
  readonly epoch: number;
  readonly expiresAt: number;
  readonly seenAt: number;
}

/** Maximum number of leases of other clocks to remember. */
const maxSightings = 10_000;

/**
 * Decides whether a lease is still held. A lease that the same clock measured is compared with it.
 * A lease of another clock is held until this process has seen it unchanged for its whole duration.
 */
export class LeaseJudge {
  readonly #options: LeaseJudgeOptions;
  readonly #sightings = new Map<string, Sighting>();

  constructor(options: LeaseJudgeOptions) {
    this.#options = options;
  }

  /** Milliseconds of the clock that decides. */
  now(): number {
    const { clock, leaseClock } = this.#options;
    return (leaseClock ?? clock).now();
  }

  /** The times of a lease that starts now. */
  times(leaseMs: number): Pick<LeaseRow, 'expiresAt' | 'ticks'> {
    const { clock, leaseClock } = this.#options;
    const expiresAt = clock.now() + leaseMs;
    if (leaseClock === undefined || leaseMs === Number.POSITIVE_INFINITY) return { expiresAt };
    // A whole number is shorter in the stored row, which each append writes.
    const until = Math.floor(leaseClock.now()) + leaseMs;
    return { expiresAt, ticks: { clock: leaseClock.id, expiresAt: until, leaseMs } };
  }

  /** How long the holder of the session's lease may still write. 0 if nobody holds it. */
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
    // A lease without ticks is from an earlier version, or from a log with its own clock.
    if (leaseClock === undefined || ticks === undefined) return expiresAt - clock.now();
    const leftMs = ticks.expiresAt - leaseClock.now();
    const isSameClock = ticks.clock === leaseClock.id && leftMs <= ticks.leaseMs;
    return isSameClock ? leftMs : this.#unseenMs(row, ticks, leaseClock.now());
  }

  /** How much of the lease's duration is left since this process saw it first. */
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
