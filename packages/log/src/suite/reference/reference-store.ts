import { type DraftRecord, type LogRecord, recordVersion, type SessionId } from '@millrace/core';
import type { Clock } from '../../contract/clock.ts';
import { LogError, type LogErrorCode } from '../../contract/log-error.ts';
import type { LeaseInfo, SessionInfo } from '../../contract/session-info.ts';
import { readableDrafts } from '../../engine/readable-draft.ts';
import { referencedBlobs } from '../../storage/blob-references.ts';

/** All data of a session in the reference log. */
export interface ReferenceSession {
  readonly session: SessionId;
  readonly incarnation: string;
  readonly createdAt: number;
  readonly origin: SessionInfo['origin'];
  changedAt: number;
  through: number;
  isClosed: boolean;
  lease: LeaseInfo | undefined;
  /** The epoch of the last driver. */
  epoch: number;
  records: readonly LogRecord[];
  readonly commands: Map<string, number>;
  readonly producers: Map<string, ProducerState>;
}

export interface ProducerState {
  driverEpoch: number;
  readonly isRequest: boolean;
  readonly turn: number;
  attempt: number;
  epoch: number;
  sequence: number;
  through: number;
}

/** Stores the data of reference logs in arrays and maps. */
export class ReferenceStore {
  readonly clock: Clock;
  readonly sessions: Map<SessionId, ReferenceSession> = new Map();
  readonly blobs: Map<string, Uint8Array> = new Map();
  /** The number of holds of each blob. A hold protects a blob until a record references it. */
  readonly heldBlobs: Map<string, number> = new Map();
  /** The last epoch. No epoch is used twice, even after deletions. */
  epochs = 0;
  /** The number of all sessions that were ever created. */
  #made = 0;
  #change = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** A promise that resolves at the next change. */
  get changed(): Promise<void> {
    return this.#change.promise;
  }

  /** Wakes the followers. */
  notifyChange(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** Creates a session. */
  make(session: SessionId, origin?: SessionInfo['origin']): ReferenceSession {
    const now = this.clock.now();
    const none = { isClosed: false, lease: undefined, epoch: 0, records: [], through: 0 };
    const maps = { commands: new Map(), producers: new Map() };
    const incarnation = `reference${++this.#made}`;
    const made = { session, incarnation, origin, createdAt: now, changedAt: now, ...none, ...maps };
    this.sessions.set(session, made);
    return made;
  }

  /** Numbers drafts and adds them as records. */
  add(session: ReferenceSession, drafts: readonly DraftRecord[], producer: string): void {
    const head = { v: recordVersion, time: this.clock.now(), producer } as const;
    const ready = readableDrafts(drafts, session.session);
    const own = ready.map((draft) => ({ ...draft, ...head, offset: ++session.through }));
    session.records = [...session.records, ...own];
    for (const hash of referencedBlobs(own)) this.hold(hash, -1);
    session.changedAt = this.clock.now();
    this.notifyChange();
  }

  /** Returns whether a driver holds the lease now. */
  isHeld({ lease }: ReferenceSession): boolean {
    return lease !== undefined && lease.expiresAt > this.clock.now();
  }

  /** Adds holds to a blob. A negative number removes holds. */
  hold(hash: string, times: number): void {
    this.heldBlobs.set(hash, Math.max(0, (this.heldBlobs.get(hash) ?? 0) + times));
  }

  /** Deletes the blobs of the given records that no other record references. */
  dropBlobs(before: readonly LogRecord[]): void {
    const left = new Set(
      [...this.sessions.values()].flatMap((one) => [...referencedBlobs(one.records)]),
    );
    for (const hash of referencedBlobs(before))
      if (!left.has(hash) && !this.heldBlobs.get(hash)) this.blobs.delete(hash);
  }
}

/** Returns the runs, turns and commands that have started and have not finished. */
export function openWork(records: readonly LogRecord[]): ReadonlySet<string> {
  const open = new Set<string>();
  for (const { fact, turn } of records) {
    if (fact?.type === 'run_started') open.add(`run ${fact.runId}`);
    if (fact?.type === 'run_finished') open.delete(`run ${fact.runId}`);
    if (fact?.type === 'turn_started') open.add(`turn ${turn}`);
    if (fact?.type === 'turn_finished') open.delete(`turn ${turn}`);
    if (fact?.type === 'command_queued') open.add(`command ${fact.key}`);
    if (fact?.type === 'command_consumed') open.delete(`command ${fact.key}`);
  }
  return open;
}

export function infoOf(found: ReferenceSession): SessionInfo {
  const { session, through, incarnation, createdAt, changedAt } = found;
  const { isClosed, lease, epoch, origin, records } = found;
  const hasWork = !isClosed && openWork(records).size > 0;
  const times = { createdAt, changedAt };
  return { session, through, incarnation, ...times, isClosed, hasWork, lease, epoch, origin };
}

export function refusal(code: LogErrorCode, place: LogError['place'] = {}): LogError {
  return new LogError(code, `The reference refuses: ${JSON.stringify({ code, ...place })}`, place);
}
