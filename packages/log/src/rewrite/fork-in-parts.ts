import type { LogRecord, SessionId } from '@millrace/core';
import { sealCopy } from '../chain/seal.ts';
import { nextTask } from '../contract/clock.ts';
import { deletedError, unknownSession } from '../contract/log-error.ts';
import { indexRecords, numberRecords } from '../engine/append-records.ts';
import { type LogContext, requireSession } from '../engine/log-context.ts';
import { UnfinishedRequests } from '../engine/producer.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { LeaseRow, SessionRow } from '../storage/rows.ts';
import { hiddenPrefix, isHidden, newSession } from '../storage/session-row.ts';
import {
  assertOffset,
  chainNote,
  chainOfFork,
  ForkFacts,
  type ForkPlan,
  forkTargetExists,
  sizeOf,
} from './fork-facts.ts';

/** The approximate size of a part in bytes. Other work can run between two parts. */
export const partBytes: number = 2 ** 18;

/** A copy that gets no part for this time counts as abandoned. */
const leaseMs = 60_000;

/** How often a copy starts again because the original session was settled or redacted during the copy. */
const maxTries = 3;

/** Maximum number of abandoned copies that one call removes. */
const maxRemoved = 64;

/**
 * Forks a long session. The records are first copied, in parts, into a session with a hidden id. The last
 * transaction gives this session its real id and adds the records of the fork. A process that ends during the
 * copy therefore leaves no visible session. Its hidden session is removed later, by
 * `removeAbandonedCopies`.
 *
 * `whole` copies the session in one transaction. It is used if the store cannot rename a session, or if the
 * session is changed again and again during the copy.
 */
export async function forkInParts(
  context: LogContext,
  plan: ForkPlan,
  whole: () => Promise<SessionRow>,
): Promise<SessionRow> {
  await removeAbandonedCopies(context);
  for (let tries = 0; tries < maxTries; tries++) {
    const copy = new HiddenCopy(context, plan);
    try {
      const row = await copy.run();
      if (row === 'unsupported') break;
      if (row !== 'changed') return row;
      await copy.remove();
    } catch (error) {
      // The first error is the useful one. The copy is removed later if it cannot be removed now.
      await copy.remove().catch(() => {});
      throw error;
    }
  }
  return whole();
}

/** A copy of a session under a hidden id. */
class HiddenCopy {
  readonly #context: LogContext;
  readonly #plan: ForkPlan;
  readonly #hidden: SessionId;
  readonly #facts: ForkFacts;
  readonly #requests = new UnfinishedRequests();
  #isStored = false;

  constructor(context: LogContext, plan: ForkPlan) {
    this.#context = context;
    this.#plan = plan;
    this.#hidden = `${hiddenPrefix}${crypto.randomUUID()}` as SessionId;
    this.#facts = new ForkFacts(plan.at);
  }

  /** Copies the session. Returns `changed` if records of the original session were changed during the copy. */
  async run(): Promise<SessionRow | 'changed' | 'unsupported'> {
    const { session, into, at, onCopy } = this.#plan;
    const { reader, commits } = this.#context;
    const source = await reader.session(session);
    if (source === undefined) throw unknownSession(session);
    if ((await reader.session(into)) !== undefined) throw forkTargetExists(into);
    assertOffset(source, at);
    // The records after the offset decide whether the fork can start there, so they are read first.
    for await (const { records } of this.#parts(Math.max(0, at - 1), source.through))
      this.#facts.add(records);
    this.#facts.assertPlace(source);
    if (!(await commits.run((tx) => this.#begin(tx, source)))) return 'unsupported';
    this.#isStored = true;
    for await (const part of this.#parts(0, at)) {
      onCopy?.(sizeOf(part.records));
      this.#facts.add(part.records);
      this.#requests.add(part.records);
      await commits.run((tx) => this.#store(tx, source, part));
    }
    const row = await commits.run((tx) => this.#publish(tx, source));
    if (row === undefined) return 'changed';
    this.#isStored = false;
    return row;
  }

  /** Removes the hidden session. */
  async remove(): Promise<void> {
    if (!this.#isStored) return;
    await this.#context.commits.run((tx) => removeHidden(tx, this.#hidden));
    this.#isStored = false;
  }

  async *#parts(after: number, through: number): AsyncGenerator<CopiedPart> {
    for (let cursor = after; cursor < through; ) {
      const page = await this.#context.reader.records(this.#plan.session, cursor, partBytes);
      const next = page.at(-1)?.offset ?? through;
      const records = page.filter(({ offset }) => offset <= through);
      // A part also covers the offsets of removed records.
      yield { first: cursor + 1, last: Math.min(next, through), records };
      cursor = next;
      await nextTask();
    }
  }

  /** Creates the hidden session. Returns false if the store cannot rename it later. */
  #begin(tx: StoreTransaction, source: SessionRow): boolean {
    if (tx.renameSession === undefined) return false;
    const { session, at } = this.#plan;
    const now = this.#context.clock.now();
    const row = newSession(this.#hidden, tx.nextSession(), now);
    const origin = { session, through: at };
    const chain = chainOfFork(this.#context, source, row);
    tx.putSession({ ...row, origin, lease: this.#lease(row), ...(chain && { chain }) });
    return true;
  }

  #store(tx: StoreTransaction, source: SessionRow, { first, last, records }: CopiedPart): void {
    const row = this.#require(tx);
    const grown = { ...row, through: last, lease: this.#lease(row) };
    this.#add(tx, grown, source, { first, last, records });
  }

  /** Stores records at the end of the session, with the rows for its commands and open work. */
  #add(tx: StoreTransaction, row: SessionRow, source: SessionRow, part: CopiedPart): SessionRow {
    const { first, last, records } = part;
    const note = chainNote(source, this.#plan.at);
    const sealed = row.chain === undefined ? { records } : sealCopy(row.chain, records, note);
    const grown = 'chain' in sealed ? { ...row, chain: sealed.chain } : row;
    tx.putSession(grown);
    if (last >= first) tx.replace(row.session, first, last, sealed.records);
    const known = indexRecords(tx, grown, sealed.records);
    tx.putSession(known);
    return known;
  }

  /**
   * Gives the copy its real id and adds the last records. Returns undefined if records of the original session
   * were changed, for example redacted, after the copy began.
   */
  #publish(tx: StoreTransaction, source: SessionRow): SessionRow | undefined {
    const { session, into, at, append } = this.#plan;
    const { clock } = this.#context;
    const row = requireSession(tx, session);
    const { made, rewrites, incarnation } = source;
    const isSame = row.made === made && row.rewrites === rewrites;
    if (!isSame || row.incarnation !== incarnation) return undefined;
    if (tx.session(into) !== undefined) throw forkTargetExists(into);
    const hidden = this.#require(tx);
    this.#facts.add(this.#context.recordsBetween(tx, session, source.through, row.through));
    const now = clock.now();
    const drafts = [...this.#facts.drafts(), ...append];
    const records = numberRecords({ through: at }, drafts, 'store', now);
    const last = at + records.length;
    const times = { createdAt: now, changedAt: now };
    const copy = { ...hidden, session: into, ...times, through: last, lease: undefined };
    tx.renameSession?.(this.#hidden, into);
    const known = this.#add(tx, copy, source, { first: at + 1, last, records });
    this.#requests.add(records);
    for (const producer of this.#requests.rows(known)) tx.putProducer(producer);
    return known;
  }

  /** Returns the row of the hidden session. Throws if another process removed it as abandoned. */
  #require(tx: StoreTransaction): SessionRow {
    const row = tx.session(this.#hidden);
    if (row === undefined) throw deletedError(this.#plan.into);
    return row;
  }

  #lease({ incarnation }: SessionRow): LeaseRow {
    const { process } = this.#plan;
    return { holder: 'fork', ...this.#context.leases.times(leaseMs), process, incarnation };
  }
}

/** Records of the original session, and the offsets that they cover. */
interface CopiedPart {
  readonly first: number;
  readonly last: number;
  readonly records: readonly LogRecord[];
}

/** Removes the hidden sessions of processes that ended during a fork. */
export async function removeAbandonedCopies(context: LogContext): Promise<void> {
  const { reader, commits, leases } = context;
  // Rows are sorted by session id, and the ids of hidden sessions come before all other ids.
  for (const row of await reader.sessions({ limit: maxRemoved })) {
    if (!isHidden(row.session)) break;
    if (row.isDamaged || leases.remainingMs(row) > 0) continue;
    await commits.run((tx) => {
      const now = tx.session(row.session);
      if (now !== undefined && leases.remainingMs(now) === 0) removeHidden(tx, row.session);
    });
  }
}

function removeHidden(tx: StoreTransaction, hidden: SessionId): void {
  if (tx.session(hidden) === undefined) return;
  const blobs = tx.blobsOf(hidden);
  tx.deleteSession(hidden);
  tx.deleteUnusedBlobs(blobs);
}
