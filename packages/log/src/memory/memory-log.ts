import type { LogRecord, SessionId, Snapshot } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { assertNames } from '../engine/check-options.ts';
import { processClock } from '../engine/lease-clock.ts';
import { LocalLog, type LocalLogOptions } from '../engine/local-log.ts';
import { referencedBlobs } from '../storage/blob-references.ts';
import { randomIncarnation } from '../storage/incarnation.ts';
import { approximateBytes, indexAfter, settledRanges } from '../storage/record-list.ts';
import type {
  NewSessionNumbers,
  RecordStore,
  SessionRowFilter,
  StoreTransaction,
} from '../storage/record-store.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';
import { hasWork } from '../storage/session-row.ts';

/** Options of `memoryLog`. */
export type MemoryLogOptions = Pick<LocalLogOptions, 'clock' | 'bus' | 'chain'>;

/**
 * Creates a log in memory. Its content is lost when the process ends. Use it for tests and scripts.
 *
 * @example const log = memoryLog(); const driver = await log.open(sessionId('demo'));
 */
export function memoryLog(options: MemoryLogOptions = {}): Log {
  assertNames('memoryLog', options, { clock: true, bus: true, chain: true });
  const { clock, bus, chain } = options;
  // Each commit runs immediately, because grouping commits would only add delay in memory.
  const rest = { commitIntervalMs: 0, leaseClock: processClock };
  return new LocalLog(new MemoryStore(), { clock, bus, chain, ...rest });
}

interface SessionEntry {
  row: SessionRow;
  records: LogRecord[];
  /** The offset ranges that snapshots replace. */
  settled: readonly Snapshot['covers'][];
  readonly producers: Map<string, ProducerRow>;
  readonly commands: Map<string, CommandRow>;
}

/**
 * Stores everything in memory. It needs no rollback, because work that throws has not written anything. The
 * commit queue requires this from all work.
 */
export class MemoryStore implements RecordStore, StoreTransaction {
  readonly #entries = new Map<SessionId, SessionEntry>();
  readonly #blobs = new Map<string, Uint8Array>();
  /** The number of holds of each blob. A hold protects a blob until a record references it. */
  readonly #heldBlobs = new Map<string, number>();
  readonly #incarnation = randomIncarnation();
  #epochs = 0;
  #made = 0;

  transact<T>(work: (tx: StoreTransaction) => T): T {
    return work(this);
  }

  /** Never calls the listener, because no other process can write to this store. */
  watch(): () => void {
    return () => {};
  }

  close(): void {}

  session(session: SessionId): SessionRow | undefined {
    return this.#entries.get(session)?.row;
  }

  *sessions(filter: SessionRowFilter): Generator<SessionRow> {
    const { after, isClosed, hasWork: isAtWork, limit = Number.POSITIVE_INFINITY } = filter;
    let left = limit;
    for (const session of [...this.#entries.keys()].sort(compareCodePoints)) {
      const row = this.#entries.get(session)?.row;
      if (row === undefined) continue;
      const isMeant = (isClosed ?? row.isClosed) === row.isClosed && (!isAtWork || hasWork(row));
      const isBefore = after !== undefined && compareCodePoints(session, after) <= 0;
      if (!isMeant || isBefore) continue;
      if (left-- <= 0) return;
      yield row;
    }
  }

  producer(session: SessionId, producer: string): ProducerRow | undefined {
    return this.#entries.get(session)?.producers.get(producer);
  }

  command(session: SessionId, key: string): CommandRow | undefined {
    return this.#entries.get(session)?.commands.get(key);
  }

  records(session: SessionId, after: number, maxBytes: number): readonly LogRecord[] {
    const records = this.#entries.get(session)?.records ?? [];
    const start = indexAfter(records, after);
    let end = start;
    for (let bytes = 0; bytes < maxBytes; end++) {
      const record = records[end];
      if (record === undefined) break;
      bytes += approximateBytes(record);
    }
    return records.slice(start, this.#pageEnd(session, Math.max(end, start + 1)));
  }

  /**
   * Returns the end of a page. If the page would end inside a range that a snapshot replaces, it returns
   * the end of that range.
   */
  #pageEnd(session: SessionId, end: number): number {
    const { records = [], settled = [] } = this.#entries.get(session) ?? {};
    const last = records[end - 1]?.offset ?? 0;
    const around = settled.find(([first, until]) => first <= last && last < until);
    return around === undefined ? end : this.#pageEnd(session, indexAfter(records, around[1]));
  }

  blob(hash: string): Uint8Array | undefined {
    return this.#blobs.get(hash);
  }

  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined {
    return this.#blobs.get(hash)?.slice(start, end);
  }

  blobsOf(session: SessionId): readonly string[] {
    return [...referencedBlobs(this.#entries.get(session)?.records ?? [])];
  }

  nextEpoch(): number {
    return ++this.#epochs;
  }

  nextSession(): NewSessionNumbers {
    return { made: ++this.#made, incarnation: this.#incarnation };
  }

  putSession(row: SessionRow): void {
    const entry = this.#entries.get(row.session);
    if (entry !== undefined) entry.row = row;
    else {
      const empty = { records: [], settled: [], producers: new Map(), commands: new Map() };
      this.#entries.set(row.session, { row, ...empty });
    }
  }

  putProducer(row: ProducerRow): void {
    this.#entries.get(row.session)?.producers.set(row.producer, row);
  }

  putCommand(session: SessionId, key: string, row: CommandRow): void {
    this.#entries.get(session)?.commands.set(key, row);
  }

  insert(session: SessionId, records: readonly LogRecord[]): void {
    const entry = this.#entries.get(session);
    // The records are pushed one by one, because a call has a limit on the number of arguments.
    for (const record of records) entry?.records.push(record);
    for (const hash of referencedBlobs(records)) this.#releaseHold(hash);
  }

  replace(session: SessionId, first: number, last: number, records: readonly LogRecord[]): void {
    const entry = this.#entries.get(session);
    if (entry === undefined) return;
    const start = indexAfter(entry.records, first - 1);
    const end = indexAfter(entry.records, last);
    const before = new Set(referencedBlobs(entry.records.slice(start, end)));
    const { records: all } = entry;
    // `splice` is used only for short lists, because a call has a limit on the number of arguments.
    if (records.length <= 1000) all.splice(start, end - start, ...records);
    else entry.records = [...all.slice(0, start), ...records, ...all.slice(end)];
    // A snapshot record has the last offset of the range that it replaces.
    const isKept = ([, through]: Snapshot['covers']) => through < first || through > last;
    entry.settled = [...entry.settled.filter(isKept), ...settledRanges(records)];
    for (const hash of referencedBlobs(records)) if (!before.has(hash)) this.#releaseHold(hash);
  }

  renameSession(from: SessionId, into: SessionId): void {
    const entry = this.#entries.get(from);
    if (entry === undefined) return;
    this.#entries.set(into, entry);
    this.#entries.delete(from);
  }

  deleteSession(session: SessionId): void {
    this.#entries.delete(session);
  }

  putBlob(hash: string, bytes: Uint8Array): void {
    if (!this.#blobs.has(hash)) this.#blobs.set(hash, bytes);
    this.#heldBlobs.set(hash, (this.#heldBlobs.get(hash) ?? 0) + 1);
  }

  #releaseHold(hash: string): void {
    const holds = (this.#heldBlobs.get(hash) ?? 0) - 1;
    if (holds > 0) this.#heldBlobs.set(hash, holds);
    else this.#heldBlobs.delete(hash);
  }

  deleteUnusedBlobs(hashes: readonly string[]): void {
    if (hashes.length === 0) return;
    const used = new Set([...this.#entries.keys()].flatMap((session) => this.blobsOf(session)));
    for (const hash of hashes)
      if (!used.has(hash) && !this.#heldBlobs.has(hash)) this.#blobs.delete(hash);
  }
}

/**
 * Compares ids by code points, like the UTF-8 order of the other stores. JavaScript compares UTF-16
 * units, which differs for surrogate pairs.
 */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return codePointRank(one) - codePointRank(other);
  }
  return a.length - b.length;
}

/**
 * Returns the position of a UTF-16 unit in the order of code points. Surrogates come after all other units.
 */
function codePointRank(unit: number): number {
  if (unit >= 0xe000) return unit - 0x800;
  return unit >= 0xd800 ? unit + 0x2000 : unit;
}
