import type { LogRecord, SessionId } from '@millrace/core';
import { referencedBlobs } from '../storage/blob-references.ts';
import { type ChunkRow, toChunkRows } from '../storage/chunk-rows.ts';
import { indexAfter } from '../storage/record-list.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';
import { type FetchedSession, NotFetched } from './fetched-rows.ts';

interface OffsetRange {
  readonly first: number;
  readonly last: number;
}

/** A session in the form in which the transaction will store it. */
export class SessionDraft {
  readonly session: SessionId;
  readonly #fetched: FetchedSession | undefined;
  readonly #blobs: BlobChanges;
  row: SessionRow | undefined;
  hasChanged = false;
  readonly producers: Map<string, ProducerRow> = new Map();
  readonly commands: Map<string, CommandRow> = new Map();
  /** For each blob, the change of its number of references. */
  readonly uses: Map<string, number> = new Map();
  readonly #added: LogRecord[] = [];
  /** All fetched and added records. Undefined until the transaction replaces some of them. */
  #allRecords: LogRecord[] | undefined;
  /** The range of replaced offsets, extended to whole rows. */
  #replaced: OffsetRange | undefined;

  constructor(session: SessionId, fetched: FetchedSession | undefined, blobs: BlobChanges) {
    this.session = session;
    this.#fetched = fetched;
    this.#blobs = blobs;
    this.row = fetched?.row;
  }

  putRow(row: SessionRow): void {
    this.row = row;
    this.hasChanged = true;
  }

  producer(name: string): ProducerRow | undefined {
    return this.producers.get(name) ?? this.#known('producer', name);
  }

  command(name: string): CommandRow | undefined {
    return this.commands.get(name) ?? this.#known('command', name);
  }

  #known<What extends 'producer' | 'command'>(what: What, name: string) {
    const rows = what === 'producer' ? this.#fetched?.producers : this.#fetched?.commands;
    if (rows === undefined) return undefined;
    if (!rows.has(name)) throw new NotFetched({ what, session: this.session, name });
    return rows.get(name) as (What extends 'producer' ? ProducerRow : CommandRow) | undefined;
  }

  records(after: number): readonly LogRecord[] {
    if (this.#allRecords !== undefined)
      return this.#allRecords.slice(indexAfter(this.#allRecords, after));
    const added = this.#added.slice(indexAfter(this.#added, after));
    if (after >= this.#storedThrough) return added;
    const { records } = this.#stored(after);
    return [...records.slice(indexAfter(records, after)), ...added];
  }

  insert(records: readonly LogRecord[]): void {
    // The records are pushed one by one, because a call has a limit on the number of arguments.
    for (const record of records) {
      this.#added.push(record);
      this.#allRecords?.push(record);
    }
    for (const hash of referencedBlobs(records)) {
      this.#use(hash, 1);
      this.#blobs.releaseHold(hash);
    }
  }

  replace(first: number, last: number, records: readonly LogRecord[]): void {
    const stored = this.#storedThrough === 0 ? undefined : this.#stored(first - 1);
    const whole = this.#allRecords ?? [...(stored?.records ?? []), ...this.#added];
    const [start, end] = [indexAfter(whole, first - 1), indexAfter(whole, last)];
    this.#countUses(whole.slice(start, end), records);
    this.#allRecords = [...whole.slice(0, start), ...records, ...whole.slice(end)];
    const ranges = stored?.places ?? [];
    const touched = ranges.filter((range) => range.last >= first && range.first <= last);
    this.#replaced = {
      first: Math.min(first, touched[0]?.first ?? first, this.#replaced?.first ?? first),
      last: Math.max(last, touched.at(-1)?.last ?? last, this.#replaced?.last ?? last),
    };
  }

  blobs(): readonly string[] {
    const fetched = this.#fetched;
    if (fetched !== undefined && fetched.blobs === undefined)
      throw new NotFetched({ what: 'blobs', session: this.session });
    const counts = new Map(fetched?.blobs);
    for (const [hash, more] of this.uses) counts.set(hash, (counts.get(hash) ?? 0) + more);
    return [...counts].flatMap(([hash, count]) => (count > 0 ? [hash] : []));
  }

  /** The range of stored rows that the transaction replaces. Undefined if it replaces no rows. */
  get replaced(): OffsetRange | undefined {
    return this.#replaced;
  }

  /** Returns the rows of records that the transaction writes. */
  chunks(): readonly ChunkRow[] {
    const through = this.row?.through ?? 0;
    const [stretch, stored] = [this.#replaced, this.#storedThrough];
    const rewritten = stretch === undefined ? [] : this.#rewritten(stretch, through);
    // If the replaced range reaches the last record, the rewritten rows already contain the added records.
    if (this.#added.length === 0 || (stretch?.last ?? 0) > stored) return rewritten;
    return [...rewritten, ...toChunkRows(stored + 1, through, this.#added)];
  }

  #rewritten({ first, last }: OffsetRange, through: number): readonly ChunkRow[] {
    const whole = this.#allRecords ?? [];
    const end = last > this.#storedThrough ? through : last;
    const within = whole.slice(indexAfter(whole, first - 1), indexAfter(whole, end));
    return toChunkRows(first, end, within);
  }

  get #storedThrough(): number {
    return this.#fetched?.row.through ?? 0;
  }

  #stored(after: number) {
    const found = this.#fetched?.records;
    if (found !== undefined && found.after <= after) return found;
    throw new NotFetched({ what: 'records', session: this.session, after });
  }

  /** Updates the reference counts of blobs after the records `after` replaced the records `before`. */
  #countUses(before: readonly LogRecord[], after: readonly LogRecord[]): void {
    const known = new Set(referencedBlobs(before));
    for (const hash of referencedBlobs(after)) {
      this.#use(hash, 1);
      // A blob releases its hold only when a record references it for the first time.
      if (!known.has(hash)) this.#blobs.releaseHold(hash);
    }
    for (const hash of referencedBlobs(before)) this.#use(hash, -1);
  }

  #use(hash: string, more: number): void {
    this.uses.set(hash, (this.uses.get(hash) ?? 0) + more);
  }
}

/**
 * A change to the number of a blob's holds: `count → max(count + added, least)`. A hold protects a stored
 * blob until a record references it. The count never falls below 0.
 */
interface HoldChange {
  added: number;
  least: number;
  putAt: number;
}

/** The changes that a transaction makes to blobs. They are written at the end of the transaction. */
export class BlobChanges {
  readonly puts: Map<string, Uint8Array> = new Map();
  readonly holds: Map<string, HoldChange> = new Map();
  /** Blobs to delete if they have no references and no holds. */
  readonly dropped: Set<string> = new Set();

  put(hash: string, bytes: Uint8Array, now: number): void {
    this.puts.set(hash, bytes);
    const hold = this.#hold(hash);
    hold.added++;
    hold.least++;
    hold.putAt = now;
  }

  /** Releases one hold of the blob, because a record references it now. */
  releaseHold(hash: string): void {
    const hold = this.#hold(hash);
    hold.added--;
    hold.least = Math.max(0, hold.least - 1);
  }

  #hold(hash: string): HoldChange {
    const hold = this.holds.get(hash) ?? { added: 0, least: 0, putAt: 0 };
    this.holds.set(hash, hold);
    return hold;
  }
}
