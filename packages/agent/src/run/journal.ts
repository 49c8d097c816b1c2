import {
  agentEvents,
  type Batch,
  type DraftRecord,
  Folder,
  type FoldState,
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

interface JournalOptions {
  readonly driver: Pick<Driver, 'session' | 'append'>;
  /** What the session came to so far, where that is known: then the driver gives what follows. */
  readonly from?: { readonly state: FoldState; readonly loop: LoopState } | undefined;
  readonly observe: Observer | undefined;
  /** Whose runs these are, for observers. */
  readonly agent?: string | undefined;
  /** Hears of each record that was committed, after all observers: the loop's own ear. */
  readonly onRecord: (record: LogRecord) => void;
  /** Hears of each record that is folded, also of those from before. */
  readonly onStep?: OnStep | undefined;
}

/** How much may be under way to the log before its writer waits. */
const maxInFlight = 1024;

/**
 * Everything that is said goes through here: into the log, then into the fold, then to whoever
 * listens. What others write to the session comes the same way, with the next answer of the log.
 */
export class SessionJournal implements Journal {
  readonly #options: JournalOptions;
  readonly #folder: Folder;
  #loop: LoopState;
  /** As observers are told: the loop is ahead of them by up to a batch. */
  #observedRun: ObservedRun | undefined;
  #inFlight = 0;
  #last: Promise<void> = Promise.resolve();
  /** Why nothing more can be written. */
  #failure: Error | undefined;

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

  /** What the session was before: folded, and told to nobody. */
  async open(): Promise<void> {
    const batch = await this.#options.driver.append([]);
    const { onStep } = this.#options;
    this.#fold(batch, (...step) => onStep?.(...step));
    const { run, trace } = this.#loop;
    const { agent } = this.#options;
    this.#observedRun = run && { id: run.id, trace, agent };
  }

  /** Resolves when it is committed and told. Rejects where it could not be stored. */
  write(drafts: readonly DraftRecord[]): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#inFlight++;
    this.#last = this.#options.driver.append(drafts).then(this.#onStored, this.#onRefused);
    return this.#last;
  }

  /**
   * The same without waiting: undefined, or what to wait for where too much is under way or nothing can
   * be written. Any other failure shows at the next `write` or `settled`.
   */
  stream(drafts: readonly DraftRecord[]): Promise<void> | undefined {
    const written = this.write(drafts);
    if (this.#failure !== undefined || this.#inFlight > maxInFlight) return written;
    written.catch(() => {});
    return undefined;
  }

  // Made once for all that is written.
  readonly #onStored = (batch: Batch): void => {
    this.#inFlight--;
    this.#publish(batch);
  };
  readonly #onRefused = (error: unknown): never => {
    this.#inFlight--;
    return this.#fail(error);
  };

  /** When all that was given so far is told. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Nothing more can be written: the lease is lost, for instance. */
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
      observe?.(record, [...agentEvents(before, record, after)], this.#observedRun);
      onRecord(record);
      if (fact?.type === 'run_finished') this.#observedRun = undefined;
    });
  }

  #fold(batch: Batch, onStep: OnStep): void {
    // First, so that whoever hears of a record finds the session as it is after its batch.
    for (const record of batch.records) this.#loop = foldLoop(this.#loop, record);
    const folded = this.#folder.addBatch(batch, onStep);
    if (folded.outcome === 'gap') this.#fail(notFoldable(batch, folded.gap.code));
  }
}

function notFoldable({ after, through }: Batch, code: string): AgentError {
  const message = `Cannot go on: the records from ${after + 1} to ${through} do not fit the session (${code})`;
  return new AgentError('not_foldable', message, { after, through });
}

interface ForeignRecordsOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly journal: Journal;
  readonly clock: Clock;
  /** Aborts when nobody has to listen any more. */
  readonly ended: AbortSignal;
}

/** So long nothing was written here: then what others write has to be listened for. */
const idleMs = 100;

/**
 * Fetches what others write to a session while its driver writes nothing. While it does, their records
 * come with the answers to its own.
 */
export async function receiveForeignRecords({
  log,
  session,
  journal,
  clock,
  ended,
}: ForeignRecordsOptions): Promise<void> {
  while (!ended.aborted) {
    const before = journal.state.through;
    await wait(clock, idleMs, ended);
    if (ended.aborted || journal.state.through !== before) continue;
    const heard = log.follow(session, { from: before, signal: ended })[Symbol.asyncIterator]();
    const { done } = await heard.next();
    await heard.return?.();
    if (!done && journal.state.through === before) await journal.write([]);
  }
}
