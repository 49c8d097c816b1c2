import type { Batch, DraftRecord, LogRecord, SessionId } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';
import type { Divergence } from '../contract/replay.ts';
import { divergenceAt, isSameDraft } from './divergence.ts';
import type { Playback } from './playback.ts';
import type { RecordedDrive } from './recorded-drives.ts';

interface Pending {
  readonly drafts: readonly DraftRecord[];
  readonly resolve: (batch: Batch) => void;
}

/**
 * The time for which the replay waits, in real time, for work that the virtual clock does not control. An
 * async schema is an example of such work.
 */
const divergeAfterMs = 2000;

/** The incarnation of every log that is a recording. */
export const replayIncarnation = 'replay';

/**
 * A recording that acts as a log. The driver may write only the recorded records, in order. A record that
 * comes too early has to wait. The replay diverges if the driver writes an unrecorded record, or never writes
 * the next recorded one.
 */
export class ReplayedLog implements Pick<Log, 'open' | 'follow' | 'read'> {
  readonly #records: readonly LogRecord[];
  readonly #playback: Playback;
  readonly #drive: RecordedDrive;
  readonly #pending: Pending[] = [];
  readonly #finished: PromiseWithResolvers<Divergence | undefined> = Promise.withResolvers();
  /** Number of records that were delivered to the driver. */
  #delivered: number;
  #timeout: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(records: readonly LogRecord[], playback: Playback, drive: RecordedDrive) {
    this.#records = records;
    this.#playback = playback;
    this.#drive = drive;
    this.#delivered = 0;
    playback.onStuck = () => this.#onStuck();
    this.#moveTo(drive.first);
  }

  /**
   * Resolves with undefined when the replay has written all recorded records of the drive. If the replay
   * diverges, it resolves with the divergence.
   */
  get finished(): Promise<Divergence | undefined> {
    return this.#finished.promise;
  }

  /** Opens the session. The driver gets the records after `from`. */
  async open(
    session: SessionId,
    { from = 0 }: { readonly from?: number | undefined } = {},
  ): Promise<Driver> {
    this.#delivered = this.#indexAfter(from);
    return {
      session,
      epoch: 1,
      incarnation: replayIncarnation,
      lost: new Promise(() => {}),
      append: (drafts) => this.#append(drafts),
      admit: () => Promise.reject(notSupported()),
      closeSession: () => Promise.reject(notSupported()),
      release: async () => {},
      detach: () => {},
    };
  }

  async read(
    _session: SessionId,
    { from = 0 }: { readonly from?: number | undefined } = {},
  ): Promise<Batch> {
    const records = this.#records.slice(this.#indexAfter(from), this.#playback.count);
    return { after: from, through: records.at(-1)?.offset ?? from, records };
  }

  async *follow(
    session: SessionId,
    {
      from = 0,
      signal,
    }: { readonly from?: number | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Batch> {
    for (let cursor = from; signal?.aborted !== true; ) {
      const batch = await this.read(session, { from: cursor });
      if (batch.records.length > 0) yield batch;
      cursor = batch.through;
      const at = this.#indexAfter(cursor);
      const isOver = at === this.#records.length;
      const next = this.#playback.reached(isOver ? Number.POSITIVE_INFINITY : at + 1);
      await Promise.race([next, aborted(signal)]);
    }
  }

  /** Returns the index of the first record after an offset. Offsets increase, so a binary search finds it. */
  #indexAfter(offset: number): number {
    let [low, high] = [0, this.#records.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#records[middle]?.offset ?? 0) > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** True if the last record of the driver is the end of a run. */
  get #hasEnded(): boolean {
    return this.#records[this.#drive.ownEnd - 1]?.fact?.type === 'run_finished';
  }

  #append(drafts: readonly DraftRecord[]): Promise<Batch> {
    this.#playback.noteActivity();
    clearTimeout(this.#timeout);
    return new Promise((resolve) => {
      if (drafts.length === 0) return this.#deliver(resolve);
      this.#pending.push({ drafts, resolve });
      this.#advance();
    });
  }

  /** Accepts pending writes while they match the next records of the recording. */
  #advance(): void {
    while (!this.#isClosed) {
      const at = this.#playback.count;
      // A command after the end of the last run is for the next driver. This driver must not get it.
      const isOver = at >= this.#drive.ownEnd && this.#hasEnded;
      if (isOver || at >= this.#drive.end) return this.#finished.resolve(undefined);
      if (this.#records[at]?.producer !== this.#drive.producer) {
        this.#moveTo(at + 1);
        continue;
      }
      const index = this.#pending.findIndex(({ drafts }) => this.#isNext(drafts, at));
      const [next] = index === -1 ? [] : this.#pending.splice(index, 1);
      if (next === undefined) return;
      this.#moveTo(this.#withCommands(Math.min(at + next.drafts.length, this.#drive.ownEnd)));
      this.#deliver(next.resolve);
    }
  }

  /**
   * Returns the number of records to deliver. If the driver's next record answers a command, the command
   * arrived with the previous batch and is delivered with it. After some records, the driver waits and
   * receives the command later.
   */
  #withCommands(count: number): number {
    if (isWaitingAfter(this.#records, count - 1)) return count;
    const { producer, end } = this.#drive;
    let next = count;
    while (next < end && this.#records[next]?.producer !== producer) next++;
    const isOwn = next < end && this.#records[next]?.fact?.type === 'command_consumed';
    return isOwn ? next : count;
  }

  /**
   * Returns true if the drafts equal the next records. If the driver died, or a fork was made, in the middle
   * of a batch, only the start of the batch is compared.
   */
  #isNext(drafts: readonly DraftRecord[], at: number): boolean {
    return drafts.slice(0, this.#drive.ownEnd - at).every((draft, index) => {
      const record = this.#records[at + index];
      return record?.producer === this.#drive.producer && isSameDraft(draft, record);
    });
  }

  #moveTo(count: number): void {
    this.#playback.moveTo(count, this.#records[count - 1]?.time ?? 0);
  }

  /**
   * Resolves a write with all records that were not delivered yet. Writes resolve in the order of the
   * recording, even if the driver submitted them in a different order.
   */
  #deliver(resolve: (batch: Batch) => void): void {
    const batch = this.#undelivered();
    queueMicrotask(() => resolve(batch));
  }

  #undelivered(): Batch {
    const { count } = this.#playback;
    const after = this.#records[this.#delivered - 1]?.offset ?? 0;
    const records = this.#records.slice(this.#delivered, count);
    this.#delivered = count;
    return { after, through: records.at(-1)?.offset ?? after, records };
  }

  #onStuck(): void {
    this.#advance();
    const expected = this.#records[this.#playback.count];
    if (this.#playback.count >= this.#drive.end || expected === undefined) return;
    const rest = this.#records.slice(this.#playback.count, this.#drive.end);
    const wrong = this.#pending.find(
      ({ drafts: [first] }) => first && !rest.some((record) => isSameDraft(first, record)),
    );
    const diverge = ({ drafts }: Pick<Pending, 'drafts'>) => {
      const same = drafts.findIndex((draft, at) => !rest[at] || !isSameDraft(draft, rest[at]));
      this.#finished.resolve(divergenceAt(rest[Math.max(0, same)] ?? expected, drafts.slice(same)));
    };
    if (wrong !== undefined) return diverge(wrong);
    clearTimeout(this.#timeout);
    const waiting = this.#pending[0] ?? { drafts: [] };
    this.#timeout = setTimeout(() => diverge(waiting), divergeAfterMs);
  }

  /** Stops the timer. Later writes wait forever, and later calls of `onStuck` have no effect. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timeout);
    this.#playback.onStuck = () => {};
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal | undefined): Promise<undefined> {
  return new Promise((resolve) =>
    signal?.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
}

function notSupported(): AgentError {
  return new AgentError('bad_option', 'Cannot do this in a replay: the recording is read-only');
}

/**
 * Returns true if a driver waits after this record. The driver can then receive a command before its next
 * write.
 */
function isWaitingAfter(records: readonly LogRecord[], at: number): boolean {
  const { delta, fact } = records[at] ?? {};
  if (fact?.type === 'response_finished')
    return areAllStarted(records, at) && !areDiscarded(records, at);
  return delta !== undefined || waitingFacts.has(fact?.type ?? '');
}

const waitingFacts: ReadonlySet<string> = new Set([
  'response_started',
  'tool_execution_started',
  'approval_asked',
  'tool_output_asked',
  'child_usage_reported',
  'file_changed',
  'retry_scheduled',
]);

/**
 * Returns true if the results of tools that started early were discarded. In this case, a command arrived
 * before these results became valid.
 */
function areDiscarded(records: readonly LogRecord[], end: number): boolean {
  const { turn, attempt } = records[end] ?? {};
  for (let at = end + 1; records[at]?.fact?.type !== 'turn_finished'; at++) {
    const record = records[at];
    if (record === undefined) return false;
    const { fact } = record;
    if (record.turn !== turn || record.attempt !== attempt) continue;
    if (fact?.type === 'tool_execution_finished' && fact.outcome === 'discarded') return true;
  }
  return false;
}

/** Returns true if all calls of a response started early. The driver then only waits for their results. */
function areAllStarted(records: readonly LogRecord[], end: number): boolean {
  const { turn, attempt } = records[end] ?? {};
  const [called, started] = [new Set<string>(), new Set<string>()];
  for (let at = end - 1; at >= 0 && records[at]?.fact?.type !== 'response_started'; at--) {
    const record = records[at];
    if (record === undefined || record.turn !== turn || record.attempt !== attempt) continue;
    const { delta, fact } = record;
    if (delta?.type === 'begin_part' && delta.kind === 'tool_call') called.add(delta.toolCallId);
    if (fact?.type === 'tool_execution_started') started.add(fact.toolCallId);
  }
  return called.size > 0 && [...called].every((id) => started.has(id));
}
