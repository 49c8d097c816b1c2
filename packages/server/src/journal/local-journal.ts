import {
  type Batch,
  type DraftRecord,
  Folder,
  type FoldState,
  type Ids,
  isMillraceError,
  type RunId,
  type SessionId,
  sessionId,
  type TraceContext,
} from '@millrace/core';
import { type Clock, type Driver, type Log, LogError } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import type { JournalTurn, TaskJournal } from '../contract/task-journal.ts';
import { journalClosed, journalError, turnFinished } from './journal-errors.ts';
import {
  emptyJournalState,
  foldJournal,
  type JournalState,
  type QueuedCommand,
  runnableCommands,
} from './journal-state.ts';
import { takeLease } from './session-lease.ts';
import { repairDrafts } from './turn-closing.ts';

export interface JournalOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Shown to whoever finds the session held. */
  readonly holder?: string | undefined;
  /** The lease is given back when nothing was written for so long. */
  readonly idleMs?: number | undefined;
  /** How long a lease that another process has is waited for; not at all unless told. */
  readonly leaseWaitMs?: number | undefined;
  /** What a dead process left open is ended; not so for those who drive their sessions themselves. */
  readonly repairsOnOpen?: boolean | undefined;
  /** Somebody died in the middle of a turn: its end was written just now. */
  readonly onRepaired?: ((taskId: string) => Promise<void>) | undefined;
  readonly onIdle?: (() => void) | undefined;
}

/** Short, because others of the same files wait for it. */
const defaultIdleMs = 500;

export interface OpenWork {
  readonly isRunOpen: boolean;
  readonly isTurnOpen: boolean;
  readonly commands: readonly QueuedCommand[];
  /** Those that a run of an agent loop is to be begun for. */
  readonly runnable: readonly QueuedCommand[];
}

export class LocalJournal implements TaskJournal {
  readonly taskId: string;
  readonly #session: SessionId;
  readonly #options: JournalOptions;
  readonly #idleMs: number;
  #folder: Folder;
  #state: JournalState = emptyJournalState;
  /** Who writes, or is about to. */
  #driver: Promise<Driver> | undefined;
  #turn: JournalTurn | undefined;
  #inFlight = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Resolves when the lease that it had last is given back: until then it would find itself in its way. */
  #released: Promise<unknown> = Promise.resolve();
  #stopIdleTimer: () => void = () => {};
  #isClosed = false;

  constructor(taskId: string, options: JournalOptions) {
    this.taskId = taskId;
    this.#session = sessionId(taskId);
    this.#options = options;
    this.#idleMs = options.idleMs ?? defaultIdleMs;
    this.#folder = new Folder(this.#session);
  }

  /** What waits in the queue, as of now. */
  async commands(): Promise<JournalState['commands']> {
    await this.#refresh();
    return this.#state.commands;
  }

  /** What nobody has finished, as of now. */
  async openWork(): Promise<OpenWork> {
    await this.#refresh();
    const { commands, turn } = this.#state;
    const isRunOpen = this.#folder.state.run !== undefined;
    return {
      commands,
      isRunOpen,
      isTurnOpen: turn !== undefined,
      runnable: runnableCommands(this.#state),
    };
  }

  /** Something is written, or may be at any time. */
  get isBusy(): boolean {
    return this.#inFlight > 0 || this.#turn !== undefined || this.#driver !== undefined;
  }

  async state(): Promise<FoldState> {
    if (this.#driver === undefined) await this.#refresh();
    else await this.#last.catch(() => {});
    return this.#folder.state;
  }

  append(drafts: readonly DraftRecord[]): Promise<Batch> {
    if (this.#isClosed) return Promise.reject(journalClosed(this.taskId));
    const appended = this.#write(drafts);
    this.#last = appended;
    appended.catch(() => {});
    return appended;
  }

  async beginTurn(
    about: (runId: RunId) => readonly DraftRecord[] = () => [],
    trace?: TraceContext,
  ): Promise<JournalTurn> {
    if (this.#turn !== undefined) throw turnInProgress(this.taskId);
    // Before it is known which turn comes next, whatever was left open is ended.
    await this.append([]);
    if (this.#turn !== undefined) throw turnInProgress(this.taskId);
    const driver = this.#driver;
    const turn = this.#state.lastTurn + 1;
    const runId = this.#options.ids.run();
    const isOurs = () => this.#driver === driver && this.#turn === started;
    const started: JournalTurn = {
      ...{ turn, attempt: 1, runId, after: this.#folder.state.through, trace },
      append: (drafts) =>
        isOurs() ? this.append(drafts) : Promise.reject(turnFinished(this.taskId, turn)),
      finish: async (stop, error) => {
        if (!isOurs()) throw turnFinished(this.taskId, turn);
        const at = { turn, attempt: 0 };
        const reported: readonly DraftRecord[] =
          error === undefined ? [] : [{ ...at, fact: { type: 'error_reported', error } }];
        await this.append([
          ...reported,
          { ...at, fact: { type: 'turn_finished', stop } },
          { turn: 0, attempt: 0, fact: { type: 'run_finished', runId, stop } },
        ]);
        this.#turn = undefined;
        this.#startIdleTimer();
      },
    };
    this.#turn = started;
    try {
      await this.append([
        ...about(runId),
        { turn: 0, attempt: 0, fact: { type: 'run_started', runId, ...(trace && { trace }) } },
        { turn, attempt: 0, fact: { type: 'turn_started' } },
      ]);
    } catch (error) {
      this.#turn = undefined;
      throw error;
    }
    return started;
  }

  async consume(key: string): Promise<void> {
    await this.append([{ turn: 0, attempt: 0, fact: { type: 'command_consumed', key } }]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopIdleTimer();
    await this.#last.catch(() => {});
    await this.#release();
  }

  async #write(drafts: readonly DraftRecord[]): Promise<Batch> {
    this.#stopIdleTimer();
    this.#inFlight++;
    this.#driver ??= this.#open();
    const opened = this.#driver;
    try {
      const driver = await opened;
      const batch = await driver.append(drafts);
      this.#apply(batch);
      return batch;
    } catch (error) {
      // Nobody knows what a later append would follow: the next one begins by reading what is there.
      if (this.#driver === opened) this.#dropDriver();
      throw journalError(this.taskId, error);
    } finally {
      this.#inFlight--;
      this.#startIdleTimer();
    }
  }

  async #open(): Promise<Driver> {
    const { holder = 'server', repairsOnOpen = true, onRepaired, leaseWaitMs = 0 } = this.#options;
    await this.#released;
    const { through: from } = this.#folder.state;
    const wait = { ...this.#options, leaseWaitMs };
    const driver = await takeLease(this.#session, { holder, from }, wait);
    try {
      this.#apply(await driver.append([]));
      const repairs = repairsOnOpen ? repairDrafts(this.#folder.state, this.#state) : [];
      if (repairs.length === 0) return driver;
      this.#apply(await driver.append(repairs));
      await onRepaired?.(this.taskId);
      return driver;
    } catch (error) {
      await driver.release().catch(() => {});
      throw error;
    }
  }

  #apply(batch: Batch): void {
    const { through } = this.#folder.state;
    for (const record of batch.records)
      if (record.offset > through) this.#state = foldJournal(this.#state, record);
    const folded = this.#folder.addBatch(batch);
    if (folded.outcome !== 'gap') return;
    const message = `Cannot fold task ${this.taskId} after offset ${through}: the records do not fit (${folded.gap.code}). Restore a backup`;
    throw new LogError('corrupt', message, { session: this.taskId, offset: through });
  }

  /** Who drives has all that matters to it with its own appends; anybody else has to read. */
  async #refresh(): Promise<void> {
    if (this.#driver !== undefined && !this.#isClosed) {
      await this.append([]);
      return;
    }
    const { log } = this.#options;
    for (;;) {
      const { through } = this.#folder.state;
      const page = await log.read(this.#session, { from: through }).catch(undefinedIfMissing);
      if (page === undefined || page.through <= through) return;
      this.#apply(page);
    }
  }

  #dropDriver(): void {
    this.#driver = undefined;
    this.#turn = undefined;
  }

  /** Begins to wait for the next write, unless something goes on. */
  #startIdleTimer(): void {
    this.#stopIdleTimer();
    if (this.#inFlight > 0 || this.#turn !== undefined || this.#isClosed) return;
    const idle = () => void this.#release().then(this.#options.onIdle, () => {});
    this.#stopIdleTimer = this.#options.clock.after(this.#idleMs, idle, { isIdle: true });
  }

  async #release(): Promise<void> {
    const driver = this.#driver;
    this.#dropDriver();
    if (driver === undefined) return;
    this.#released = driver.then((held) => held.release()).catch(() => {});
    await this.#released;
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (isMillraceError(error) && error.code === 'no_session') return undefined;
  throw error;
}

function turnInProgress(taskId: string): ServerError {
  const message = `Cannot begin a turn of task ${taskId}: one goes on. Wait for its end, or interrupt it`;
  return new ServerError('conflict', message, { task: taskId });
}
