import type { DraftRecord, LogRecord, SessionId } from '@millrace/core';
import { newChain } from '../chain/link.ts';
import type { ForkOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { LogContext } from '../engine/log-context.ts';
import { approximateBytes, isInsideSettled } from '../storage/record-list.ts';
import type { ChainHead, ProcessIdentity, SessionRow } from '../storage/rows.ts';

/** A fork with checked options. */
export interface ForkPlan {
  readonly session: SessionId;
  readonly into: SessionId;
  /** The offset of the last record to copy. */
  readonly at: number;
  /** The records that the caller adds after the copied records. */
  readonly append: readonly DraftRecord[];
  readonly onCopy: ForkOptions['onCopy'];
  /** The process that copies. */
  readonly process: ProcessIdentity | undefined;
}

/** Returns the approximate size of records in bytes. */
export function sizeOf(records: readonly LogRecord[]): number {
  return records.reduce((bytes, record) => bytes + approximateBytes(record), 0);
}

/**
 * Returns the start of the chain of a fork. The fork of a chained session has a chain of its own. Returns
 * undefined if the fork has no chain.
 */
export function chainOfFork(
  context: LogContext,
  row: SessionRow,
  copy: SessionRow,
): ChainHead | undefined {
  if (row.chain !== undefined) return newChain(0);
  return context.chained({ ...copy, through: 0 }).chain;
}

/** Returns the note in the links of a fork. It names the end of the original chain. */
export function chainNote({ session, chain }: SessionRow, at: number): string {
  const from = chain === undefined ? '' : ` ${chain.count} ${chain.hash}`;
  return `copy ${encodeURIComponent(session)} ${at}${from}`;
}

/**
 * Collects what a fork adds to the copied records. It gets all records of the original session, in parts. The
 * records after the offset of the fork can come before the others. A part can come twice.
 */
export class ForkFacts {
  readonly #at: number;
  readonly #copiedItems = new Set<string>();
  readonly #redacted = new Map<string, DraftRecord>();
  readonly #queued = new Set<string>();
  #hasRecord: boolean;
  #isSettled = false;

  constructor(at: number) {
    this.#at = at;
    this.#hasRecord = at === 0;
  }

  add(records: readonly LogRecord[]): void {
    const at = this.#at;
    if (isInsideSettled(records, at)) this.#isSettled = true;
    for (const { offset, fact } of records) {
      if (offset === at) this.#hasRecord = true;
      if (fact?.type === 'item_redacted' && offset > at)
        this.#redacted.set(fact.itemId, { turn: 0, attempt: 0, fact });
      if (fact === undefined || offset > at) continue;
      if (fact.type === 'item_started') this.#copiedItems.add(fact.itemId);
      if (fact.type === 'command_queued') this.#queued.add(fact.key);
      if (fact.type === 'command_consumed') this.#queued.delete(fact.key);
    }
  }

  /** Throws `bad_offset` if the session has no record at the offset. Settling and redaction remove records. */
  assertPlace({ session, through }: SessionRow): void {
    if (this.#isSettled) throw insideSettledTurn(session, this.#at);
    if (this.#at < through && !this.#hasRecord) throw removedRecord(session, this.#at);
  }

  /**
   * Returns the records that the fork adds. Items that were redacted after the fork's offset are marked as
   * redacted, because the original session no longer contains their content. Queued commands are marked as
   * consumed, because they belong to the original session and must not run in the copy.
   */
  drafts(): readonly DraftRecord[] {
    const redacted = [...this.#redacted].flatMap(([item, draft]) =>
      this.#copiedItems.has(item) ? [draft] : [],
    );
    const consumed = [...this.#queued].map((key): DraftRecord => {
      return { turn: 0, attempt: 0, fact: { type: 'command_consumed', key } };
    });
    return [...redacted, ...consumed];
  }
}

/** Throws `bad_offset` if the session never had the offset. */
export function assertOffset({ session, through }: SessionRow, offset: number): void {
  if (Number.isInteger(offset) && offset >= 0 && offset <= through) return;
  const message = `Cannot fork session ${session} at offset ${offset}: its offsets are 0 to ${through}`;
  throw new LogError('bad_offset', message, { session, offset, through });
}

export function forkTargetExists(session: SessionId): LogError {
  return new LogError(
    'session_exists',
    `Cannot fork into session ${session}: it already exists. Choose another id`,
    { session },
  );
}

function insideSettledTurn(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: it is inside a settled turn. Fork at the end of the turn`;
  return new LogError('bad_offset', message, { session, offset });
}

function removedRecord(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: the record was removed. Fork at an existing record`;
  return new LogError('bad_offset', message, { session, offset });
}
