import {
  decodeRecord,
  emptyState,
  type FoldState,
  foldBatch,
  type LogRecord,
  type Metadata,
  type SessionId,
  type Snapshot,
  sessionId,
  validate,
} from '@millrace/core';
import { canHash } from '../chain/link.ts';
import { rewriteChain } from '../chain/rewrite-chain.ts';
import { systemClock } from '../contract/clock.ts';
import type { Log, RestoreOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { referencedBlobs } from '../storage/blob-references.ts';
import { BadLineError, type LineSource, readLines, toImportError } from './lines.ts';
import { decodeHeader, type SessionHeader } from './session-header.ts';
import { withoutApprovals } from './without-approvals.ts';

/** Options of `importSession`. */
export interface ImportOptions {
  /** The id of the imported session. Default: its original id. */
  readonly into?: string | undefined;
  /**
   * True if the lines come from a log that you trust, for example because you move sessions to another
   * store. Approvals, commands, changes of files and an unfinished run are then kept. If it is false, they
   * are removed, and an unfinished run ends, because the user of this store has not approved any call of the
   * file. Default: false.
   */
  readonly isTrusted?: boolean | undefined;
  /**
   * Replaces the fields with these names in the metadata of all items. Items without such a field stay the
   * same. Use it for fields that an application trusts, such as the folder of a session. Default: none.
   */
  readonly metadata?: Metadata | undefined;
  /**
   * Returns the new id of a session of a sub-agent that the lines name. Use it to import the sessions of
   * sub-agents too, with these ids. The file must not choose the ids, because it could name a session that this
   * user has or creates later. `isTrusted` keeps the ids of the file. Default: the import removes these links.
   */
  readonly childId?: ((named: SessionId) => SessionId) | undefined;
}

/**
 * Creates a session from the lines of `exportSession`. Every record is validated like a new record. If a
 * record is invalid, the error contains the line number, and nothing is stored. Import the session's blobs
 * first, with `importBlobs`. The transcript does not change. For calls without a result, the agent decides
 * about the approval again, unless `isTrusted` is true.
 *
 * @example await importBlobs(log, createInterface({ input: createReadStream('session.blobs.jsonl') })); await
 * importSession(log, createInterface({ input: createReadStream('session.jsonl') }));
 */
export async function importSession(
  log: Log,
  lines: LineSource,
  { into, isTrusted = false, metadata = {}, childId }: ImportOptions = {},
): Promise<SessionInfo> {
  const reader = new SessionReader(log, into === undefined ? undefined : sessionId(into));
  const last = await readLines(lines, 'a session', (line) => reader.take(line));
  const { session, header, records: read } = reader.end(last + 1);
  const all = read.map((record) => withMetadata(record, metadata));
  await assertBlobs(log, reader.blobs);
  const { createdAt, changedAt, isClosed } = header;
  if (isTrusted) {
    const { origin, through } = header;
    const times = { createdAt, changedAt };
    const { records, chain } = chainedImport(header, read, all);
    return log.restore(session, records, { ...times, isClosed, origin, through, chain });
  }
  const { records: kept, through } = withoutApprovals(all, header.through, childId, {
    ...{ from: header.session, into: session },
  });
  const { records, chain } = chainedImport(header, read, kept);
  // A time in the future would make the session the newest one until that time.
  const latest = systemClock.now();
  const times = {
    createdAt: Math.min(createdAt, latest),
    changedAt: Math.min(changedAt, latest),
  };
  return log.restore(session, records, { ...times, isClosed, through, chain });
}

/** Adds a link for the records that the import changes or removes, if the session has a chain. */
function chainedImport(
  { chain }: SessionHeader,
  read: readonly LogRecord[],
  kept: readonly LogRecord[],
): { readonly records: readonly LogRecord[]; readonly chain?: RestoreOptions['chain'] } {
  if (chain === undefined || !canHash()) return { records: kept };
  const sealed = rewriteChain(chain, read, kept, 'import');
  return { ...sealed, chain: { ...sealed.chain, isWide: true } };
}

/** Replaces fields in the metadata of an item that starts. */
function withMetadata(record: LogRecord, metadata: Metadata): LogRecord {
  if (record.fact === undefined || record.fact.type !== 'item_started') return record;
  const { fact } = record;
  const own = fact.metadata ?? {};
  const replaced = Object.entries(metadata).filter(([name]) => Object.hasOwn(own, name));
  if (replaced.length === 0) return record;
  return { ...record, fact: { ...fact, metadata: { ...own, ...Object.fromEntries(replaced) } } };
}

interface StartedImport {
  readonly session: SessionId;
  readonly header: SessionHeader;
  readonly check: RecordValidator;
}

class SessionReader {
  /** For each referenced blob, the number of the first line that references it. */
  readonly blobs = new Map<string, number>();
  readonly #log: Log;
  readonly #into: SessionId | undefined;
  readonly #records: LogRecord[] = [];
  #begun: StartedImport | undefined;

  constructor(log: Log, into: SessionId | undefined) {
    this.#log = log;
    this.#into = into;
  }

  async take(line: string): Promise<void> {
    if (this.#begun === undefined) return this.#begin(line);
    const record = decodeRecord(line);
    this.#begun.check.take(record);
    this.#records.push(record);
    for (const hash of referencedBlobs([record]))
      if (!this.blobs.has(hash)) this.blobs.set(hash, this.#records.length + 1);
  }

  /** Checks that the file is complete. `line` is the number of the line after the last line. */
  end(line: number) {
    try {
      if (this.#begun === undefined) throw new BadLineError('the file is empty');
      this.#begun.check.end();
      return { ...this.#begun, records: this.#records };
    } catch (error) {
      throw toImportError(error, line, 'a session');
    }
  }

  async #begin(line: string): Promise<void> {
    const header = decodeHeader(line);
    const session = this.#into ?? header.session;
    // This check runs early, before the whole file is read. `restore` repeats the check.
    if ((await this.#log.info(session)) !== undefined) throw targetExists(session);
    this.#begun = { session, header, check: new RecordValidator(session, header) };
  }
}

async function assertBlobs(log: Log, blobs: ReadonlyMap<string, number>): Promise<void> {
  for (const [hash, line] of blobs) {
    if ((await log.blobs.slice(hash, 0, 0)) !== undefined) continue;
    const why = new BadLineError(`its blob ${hash} does not exist; import the blobs first`);
    throw toImportError(why, line, 'a session');
  }
}

function targetExists(session: SessionId): LogError {
  const message = `Cannot import session ${session}: it already exists. Delete the existing session, or import it with another id (the option into)`;
  return new LogError('session_exists', message, { session });
}

/** Validates each record against the earlier records, with the rules for writers. */
class RecordValidator {
  readonly #through: number;
  readonly #holes: Map<number, number>;
  readonly #keys = new Set<string>();
  /** The turns that have deltas, the turns that have a snapshot, and the turns that are finished. */
  readonly #withDeltas = new Set<number>();
  readonly #settled = new Set<number>();
  readonly #finished = new Set<number>();
  #state: FoldState;
  /** The offset that the next record must have. */
  #next: number;

  constructor(session: SessionId, { through, holes }: SessionHeader) {
    this.#through = through;
    this.#holes = new Map(holes);
    this.#state = emptyState(session);
    this.#next = this.#after(0);
  }

  /** Validates one record. Throws `BadLineError` or an error of core. */
  take(record: LogRecord): void {
    this.#assertPlace(record);
    this.#assertKey(record);
    if (record.fact?.type === 'snapshot') this.#assertCovers(record, record.fact);
    // Only stores write snapshots, so the rules for writers do not include them. The fold checks snapshots.
    else validate(this.#state, record);
    this.#fold(record);
    this.#trackTurn(record);
    this.#next = this.#after(record.offset);
  }

  /** Throws if records are missing at the end, or if there is a snapshot of a turn that is not finished. */
  end(): void {
    for (const turn of this.#settled)
      if (!this.#finished.has(turn))
        throw new BadLineError(
          `turn ${turn} has a snapshot, but it has not finished`,
          'bad_records',
          {
            turn,
          },
        );
    if (this.#next <= this.#through)
      throw new BadLineError(`the file ends before offset ${this.#next} of ${this.#through}`);
  }

  #after(offset: number): number {
    const next = offset + 1;
    const hole = this.#holes.get(next);
    return hole === undefined ? next : hole + 1;
  }

  #assertPlace({ offset }: LogRecord): void {
    if (offset === this.#next && offset <= this.#through) return;
    const expected =
      this.#next > this.#through ? 'no more records are expected' : `${this.#next} is expected`;
    throw new BadLineError(`it has offset ${offset} where ${expected}`, 'bad_records', { offset });
  }

  #assertKey({ fact, offset }: LogRecord): void {
    if (fact?.type !== 'command_queued') return;
    if (this.#keys.has(fact.key))
      throw new BadLineError('it has the same key as an earlier command', 'bad_records', {
        offset,
      });
    this.#keys.add(fact.key);
  }

  /**
   * Checks that a snapshot replaces all deltas of its turn. If the file had other deltas of the turn, readers
   * of events and readers of the folded state would see different content.
   */
  #assertCovers({ offset, turn }: LogRecord, { covers: [, last] }: Snapshot): void {
    const refused = (why: string) =>
      new BadLineError(`its snapshot ${why}`, 'bad_records', { offset });
    if (last !== offset) throw refused('covers offsets after it');
    if (this.#withDeltas.has(turn) || this.#settled.has(turn))
      throw refused('does not cover all deltas of its turn before it');
  }

  #trackTurn({ turn, fact, delta }: LogRecord): void {
    // Deltas of an unknown type have no content, so the log may contain them in addition to a snapshot.
    if (delta !== undefined && delta.type !== 'unknown') this.#withDeltas.add(turn);
    if (fact?.type === 'snapshot') this.#settled.add(turn);
    if (fact?.type === 'turn_finished') this.#finished.add(turn);
  }

  #fold(record: LogRecord): void {
    const { offset } = record;
    const batch = { after: this.#state.through, through: offset, records: [record] };
    const folded = foldBatch(this.#state, batch);
    if (folded.outcome === 'gap')
      throw new BadLineError(
        `it does not continue the records before it (${folded.gap.code})`,
        'bad_records',
        { offset },
      );
    this.#state = folded.state;
  }
}
