import type { SessionId } from '@millrace/core';
import type { SessionRow } from '@millrace/log/store';
import type { Machine, World } from '../world.ts';
import type { StoreState } from './store-state.ts';

/** A lease as the simulation sees it: its owner, and the true time of the last renewal. */
interface KnownLease {
  readonly machine: Machine;
  readonly start: number;
  readonly epoch: number;
  renewedAt: number;
}

/** The duration of a lease. It equals the default of `Log.open`. */
const leaseMs = 15_000;

/**
 * Checks each commit. A session must have only one driver. A lease must not be taken from a live
 * driver.
 */
export class LeaseWatch {
  readonly #world: World;
  readonly #leases = new Map<SessionId, KnownLease>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Forgets all leases, because the store was rewound. */
  forget(): void {
    this.#leases.clear();
  }

  /**
   * Returns true if a running driver has renewed its lease recently, according to the true time.
   */
  isDriven(session: SessionId): boolean {
    const known = this.#leases.get(session);
    if (known === undefined || known.machine.start !== known.start) return false;
    const { now } = this.#world;
    return known.machine.pausedUntil <= now && now - known.renewedAt < leaseMs / 2;
  }

  /**
   * Compares the sessions before and after a commit of the machine. A lease starts at `begunAt`,
   * when the transaction began.
   */
  compare(machine: Machine, before: StoreState, after: StoreState, begunAt: number): void {
    for (const [session, { row }] of after.sessions) {
      const earlier = before.sessions.get(session);
      if (earlier?.row === row) continue;
      this.#checkEpoch(session, earlier?.row, row);
      if (row.lease === undefined) this.#leases.delete(session);
      else if (
        earlier?.row.lease?.expiresAt !== row.lease.expiresAt ||
        earlier?.row.epoch !== row.epoch
      )
        this.#track(machine, row, begunAt);
    }
  }

  #checkEpoch(session: SessionId, before: SessionRow | undefined, { epoch }: SessionRow): void {
    if (before !== undefined && before.epoch > epoch)
      this.#world.fail(`Session ${session}: the epoch fell from ${before.epoch} to ${epoch}`);
  }

  #track(machine: Machine, { session, epoch, lease }: SessionRow, begunAt: number): void {
    const { now } = this.#world;
    const known = this.#leases.get(session);
    if (known?.epoch === epoch) {
      known.renewedAt = begunAt;
      return;
    }
    const isAlive = known !== undefined && known.machine.start === known.start;
    const ageMs = now - (known?.renewedAt ?? 0);
    if (isAlive && known.machine !== machine && ageMs < leaseMs - slackMs)
      this.#world.fail(
        `Session ${session}: ${machine.name} took the lease of ${known.machine.name}, which renewed it ${Math.round(ageMs)} ms ago (${lease?.holder})`,
      );
    this.#leases.set(session, { machine, start: machine.start, epoch, renewedAt: begunAt });
  }
}

/** The tolerance for rounding to whole milliseconds, and for the delay of answers. */
const slackMs = 100;
