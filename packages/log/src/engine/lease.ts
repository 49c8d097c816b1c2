import type { OpenOptions } from '../contract/log.ts';
import { closedError, deletedError, LogError } from '../contract/log-error.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { LeaseRow, ProcessIdentity, SessionRow } from '../storage/rows.ts';
import { currentLease } from '../storage/session-row.ts';
import { isRefusal } from './commits/commit-queue.ts';
import type { LeaseJudge } from './lease-clock.ts';
import type { LogContext } from './log-context.ts';

interface LeaseRequest extends OpenOptions {
  readonly holder: string;
  readonly leaseMs: number;
  readonly process: ProcessIdentity | undefined;
  readonly judge: LeaseJudge;
  /**
   * Returns an epoch that no driver of any session had before. Even a new session needs a new epoch, because
   * it may have the same id as a deleted session.
   */
  readonly nextEpoch: () => number;
}

/**
 * Returns the session row with a lease for a new driver. Throws `held` if the previous driver may still be
 * alive.
 */
export function takeLease(row: SessionRow, ask: LeaseRequest): SessionRow {
  if (row.isClosed) throw closedError(row);
  const lease = currentLease(row);
  const { holder, process, judge, leaseMs } = ask;
  const heldMs = lease === undefined || ask.takeOver ? 0 : judge.remainingMs(row);
  if (lease !== undefined && heldMs > 0) throw heldError(row, lease, heldMs);
  const { incarnation } = row;
  const own = { holder, ...judge.times(leaseMs), process, incarnation };
  return { ...row, epoch: ask.nextEpoch(), lease: own };
}

/** Returns the row with a longer lease for the same epoch. */
export function renewLease(
  row: SessionRow | undefined,
  { session, epoch, leaseMs, judge }: Pick<LeaseRequest, 'leaseMs' | 'judge'> & DriverEpoch,
): SessionRow {
  assertIsDriver(row, epoch, session);
  const { incarnation } = row;
  return { ...row, lease: row.lease && { ...row.lease, incarnation, ...judge.times(leaseMs) } };
}

interface DriverEpoch {
  readonly session: string;
  readonly epoch: number;
}

/** Throws `fenced` if the session's current driver has a different epoch. */
export function assertIsDriver(
  row: SessionRow | undefined,
  epoch: number,
  session: string,
): asserts row is SessionRow {
  if (row === undefined) throw deletedError(session);
  if (row.isClosed) throw closedError(row);
  if (row.epoch !== epoch || currentLease(row) === undefined) throw fencedError(row, epoch);
}

function heldError({ session, epoch }: SessionRow, lease: LeaseRow, heldMs: number): LogError {
  const until = Number.isFinite(heldMs)
    ? `its lease expires in ${Math.ceil(heldMs)} ms unless it is renewed`
    : 'its lease does not expire';
  const message = `Cannot open session ${session}: ${lease.holder} drives it, epoch ${epoch}; ${until}. Wait, or open it with takeOver`;
  return new LogError('held', message, { session, epoch, holder: lease.holder });
}

export function fencedError(row: SessionRow, own: number): LogError {
  const { session, epoch } = row;
  const lease = currentLease(row);
  const none =
    row.lease === undefined
      ? 'it has no driver'
      : 'the log was rewound (a backup was restored, or the last records were lost)';
  const now = lease === undefined ? none : `${lease.holder} drives it, epoch ${epoch}`;
  const message = `Cannot append to session ${session} as epoch ${own}: ${now}. Nothing was stored; open it again`;
  return new LogError('fenced', message, { session, epoch, own });
}

interface RenewableLease {
  readonly leaseMs: number;
  /** Extends the lease. Throws if the lease is lost. */
  readonly renew: (tx: StoreTransaction) => void;
  /** Checks the lease without writing. This check is for leases that do not expire. */
  readonly check: () => void | Promise<void>;
  readonly onLost: (error: unknown) => void;
}

/**
 * `checkIntervalMs` is the interval of the check whether another driver has taken a lease that does not
 * expire. `maxRenewalMs` is the longest delay between two renewals.
 */
const checkIntervalMs = 5000;
const maxRenewalMs = 3_600_000;

/** Renews a lease while its driver lives, and detects when another driver has taken it. */
export class LeaseKeeper {
  readonly #context: LogContext;
  readonly #lease: RenewableLease;
  readonly #isEndless: boolean;
  #cancel: () => void = () => {};
  #isStopped = false;
  #expiresAt: number;

  constructor(context: LogContext, lease: RenewableLease) {
    this.#context = context;
    this.#lease = lease;
    this.#isEndless = lease.leaseMs === Number.POSITIVE_INFINITY;
    this.#expiresAt = context.leases.now() + lease.leaseMs;
    this.#scheduleRenewal();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #scheduleRenewal(): void {
    if (this.#isStopped) return;
    const { clock } = this.#context;
    const waitMs = this.#isEndless
      ? checkIntervalMs
      : Math.min(this.#lease.leaseMs / 3, maxRenewalMs);
    this.#cancel = clock.after(waitMs, () => this.#renew(), { isIdle: true });
  }

  #renew(): void {
    const { renew, onLost, leaseMs } = this.#lease;
    const { leases, commits } = this.#context;
    const expiresAt = leases.now() + leaseMs;
    const kept = this.#isEndless ? this.#check() : commits.run(renew);
    kept.then(
      () => {
        this.#expiresAt = expiresAt;
        this.#scheduleRenewal();
      },
      (error: unknown) => {
        // A storage error, such as a locked file, may be temporary. The renewal is retried until the lease
        // expires.
        if (!isRefusal(error) && leases.now() < this.#expiresAt) this.#scheduleRenewal();
        else if (!this.#isStopped) onLost(error);
      },
    );
  }

  async #check(): Promise<void> {
    await this.#lease.check();
  }
}
