import {
  agentEvents,
  type Batch,
  type DraftRecord,
  Folder,
  type FoldState,
  type Gap,
  isCut,
  type LogRecord,
  type OnStep,
  type SessionId,
} from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import { wait } from '../abortable.ts';
import { AgentError, textOfError } from '../contract/agent-error.ts';
import { emptyLoopState, type LoopState } from '../contract/loop-state.ts';
import type { ObservedRun, Observer } from '../contract/observer.ts';
import type { Journal } from '../contract/run-context.ts';
import { foldLoop } from '../state/fold-loop.ts';

/** The state of a session and the state of its loop, computed from the records. */
export interface FoldedSession {
  readonly state: FoldState;
  readonly loop: LoopState;
}

interface JournalOptions {
  readonly driver: Pick<Driver, 'session' | 'append' | 'openedThrough'>;
  /**
   * The state up to some offset, if it is known. The driver then delivers only the records after that offset.
   */
  readonly from?: FoldedSession | undefined;
  /**
   * Computes the state from the start of the session, up to an offset. Called if later records redact content
   * that `from` may still contain. Also called if they change an old item that `from` does not contain.
   * Default: `from` is used.
   */
  readonly refold?: ((through: number) => Promise<FoldedSession>) | undefined;
  readonly observe: Observer | undefined;
  /** The name of the agent, which observers get. */
  readonly agent?: string | undefined;
  /** Called after each record is committed and after the observers were called. The loop uses it. */
  readonly onRecord: (record: LogRecord) => void;
  /**
   * Called for each record that is folded into the state, including the records from before the journal was
   * opened.
   */
  readonly onStep?: OnStep | undefined;
}

/** Maximum number of writes in progress. If there are more, the writer has to wait. */
const maxInFlight = 1024;

/**
 * Writes records to the log, folds them into the state, and then notifies the observers and the loop. Records
 * of other writers arrive in the same way, with the response to the next write.
 */
export class SessionJournal implements Journal {
  readonly #options: JournalOptions;
  #folder: Folder;
  #loop: LoopState;
  /** The run that observers get. The loop state may be newer by one batch. */
  #observedRun: ObservedRun | undefined;
  #inFlight = 0;
  #last: Promise<void> = Promise.resolve();
  /** The error that stopped the journal. It rejects all further writes. Undefined while the journal works. */
  #failure: Error | undefined;
  #hasRedaction = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#folder = new Folder(options.from?.state ?? options.driver.session);
    this.#loop = options.from?.loop ?? emptyLoopState;
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  get loop(): LoopState {
    return this.#loop;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** True while the log stores a write. */
  get isWriting(): boolean {
    return this.#inFlight > 0;
  }

  /**
   * True if content was redacted since the journal was opened. The loop state may still contain that
   * content.
   */
  get hasRedaction(): boolean {
    return this.#hasRedaction;
  }

  /** Reads the existing records and folds them into the state, without notifying observers. */
  async open(): Promise<void> {
    const { onStep, from, refold, driver } = this.#options;
    // The state is already current, for example because the session is new.
    const isCurrent = driver.openedThrough === this.state.through;
    const batch = isCurrent ? emptyBatch(this.state.through) : await driver.append([]);
    const isRefoldable = from !== undefined && refold !== undefined;
    const gap = this.#foldUntilGap(batch, (...step) => onStep?.(...step));
    const lacksItems = gap !== undefined && isCut(this.state.items);
    if (gap !== undefined && !(isRefoldable && lacksItems))
      this.#fail(notFoldable(batch, gap.code));
    if (isRefoldable && (this.#hasRedaction || lacksItems)) {
      const { state, loop } = await refold(batch.through);
      this.#folder = new Folder(state);
      this.#loop = loop;
      this.#hasRedaction = false;
    }
    const { run, trace } = this.#loop;
    const { agent } = this.#options;
    this.#observedRun = run && { id: run.id, trace, agent };
  }

  write(drafts: readonly DraftRecord[]): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#inFlight++;
    this.#last = this.#options.driver.append(drafts).then(this.#onStored, this.#onRefused);
    return this.#last;
  }

  stream(drafts: readonly DraftRecord[]): Promise<void> | undefined {
    const written = this.write(drafts);
    if (this.#failure !== undefined || this.#inFlight > maxInFlight) return written;
    written.catch(() => {});
    return undefined;
  }

  // These functions are created only once and not for each write, because `write` is called very often.
  readonly #onStored = (batch: Batch): void => {
    this.#inFlight--;
    this.#publish(batch);
  };
  readonly #onRefused = (error: unknown): never => {
    this.#inFlight--;
    return this.#fail(error);
  };

  settled(): Promise<void> {
    return this.#last;
  }

  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(textOfError(error));
  }

  #fail(error: unknown): never {
    this.fail(error);
    throw this.#failure;
  }

  #publish(batch: Batch): void {
    if (this.#failure !== undefined) throw this.#failure;
    const { observe, onRecord, onStep, agent } = this.#options;
    this.#fold(batch, (before, record, after) => {
      onStep?.(before, record, after);
      const { fact } = record;
      if (fact?.type === 'run_started')
        this.#observedRun = { id: fact.runId, trace: fact.trace, agent };
      if (fact !== undefined || !observe?.ignoresDeltas)
        observe?.(record, agentEvents(before, record, after), this.#observedRun);
      onRecord(record);
      if (fact?.type === 'run_finished') this.#observedRun = undefined;
    });
  }

  #fold(batch: Batch, onStep: OnStep): void {
    const gap = this.#foldUntilGap(batch, onStep);
    if (gap !== undefined) this.#fail(notFoldable(batch, gap.code));
  }

  /** Folds a batch into the state. Returns the gap if the batch does not follow the last folded record. */
  #foldUntilGap(batch: Batch, onStep: OnStep): Gap | undefined {
    // The whole batch is folded first. Observers and the loop therefore see the state after the whole batch.
    for (const record of batch.records) {
      this.#loop = foldLoop(this.#loop, record);
      if (record.fact?.type === 'item_redacted') this.#hasRedaction = true;
    }
    const folded = this.#folder.addBatch(batch, onStep);
    return folded.outcome === 'gap' ? folded.gap : undefined;
  }
}

function emptyBatch(through: number): Batch {
  return { after: through, through, records: [] };
}

export function notFoldable(
  { after, through }: Pick<Batch, 'after' | 'through'>,
  code: string,
): AgentError {
  const message = `Cannot continue: records ${after + 1} to ${through} do not follow from the session (${code})`;
  return new AgentError('not_foldable', message, { after, through });
}

interface ForeignRecordsOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly journal: Pick<SessionJournal, 'state' | 'write' | 'isWriting'>;
  readonly clock: Clock;
  /** Aborts when the run has ended. */
  readonly ended: AbortSignal;
  /** True if the journal also fetches records while it writes. Default: false, except during a long write. */
  readonly fetchesWhileWriting?: boolean | undefined;
}

/** After this time without a write, the journal fetches records of other writers, in milliseconds. */
const idleMs = 100;
/**
 * Maximum number of idle periods without a fetch while a write is in progress. After that, the journal fetches
 * records even during the write, so that a slow write does not delay commands of other processes.
 */
const maxWritingPeriods = 10;

/**
 * Fetches records of other writers while the driver is idle. While the driver writes, the responses to its
 * own writes contain these records. A database then needs no further query for each run.
 */
export async function receiveForeignRecords({
  log,
  session,
  journal,
  clock,
  ended,
  fetchesWhileWriting = false,
}: ForeignRecordsOptions): Promise<void> {
  const maxPeriods = fetchesWhileWriting ? 0 : maxWritingPeriods;
  let writingPeriods = 0;
  while (!ended.aborted) {
    const before = journal.state.through;
    await wait(clock, idleMs, ended);
    const isIdle = !ended.aborted && journal.state.through === before;
    const waitsForWrite = isIdle && journal.isWriting && writingPeriods < maxPeriods;
    writingPeriods = waitsForWrite ? writingPeriods + 1 : 0;
    if (!isIdle || waitsForWrite) continue;
    const batches = log.follow(session, { from: before, signal: ended })[Symbol.asyncIterator]();
    const { done } = await batches.next();
    await batches.return?.();
    if (!done && journal.state.through === before) await journal.write([]);
  }
}
