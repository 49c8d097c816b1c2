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
import { closedJournal, journalError, turnOver } from './journal-errors.ts';
import {
  askedOf,
  emptyJournal,
  foldJournal,
  type JournalFold,
  type QueuedCommand,
} from './journal-state.ts';
import { takeLease } from './session-lease.ts';
import { mendingDrafts } from './turn-closing.ts';

export interface JournalOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Shown to whoever finds the session held. */
  readonly holder?: string | undefined;
  /** The lease is given back when nothing was written for so long. */
  readonly idleMs?: number | undefined;
  /** How long a lease that another process has is waited for; not at all unless told. */
  readonly patienceMs?: number | undefined;
  /** What a dead process left open is ended; not so for those who drive their sessions themselves. */
  readonly isMending?: boolean | undefined;
  /** Somebody died in the middle of a turn: its end was written just now. */
  readonly onMended?: ((taskId: string) => Promise<void>) | undefined;
  readonly onIdle?: (() => void) | undefined;
}

/** Short, because others of the same files wait for it. */
const defaultIdleMs = 500;

export interface OpenWork {
  readonly isRunOpen: boolean;
  readonly isTurnOpen: boolean;
  readonly commands: readonly QueuedCommand[];
  /** Those that a run of an agent loop is to be begun for. */
  readonly asked: readonly QueuedCommand[];
}

export class LocalJournal implements TaskJournal {
  readonly taskId: string;
  readonly #session: SessionId;
  readonly #options: JournalOptions;
  readonly #idleMs: number;
  #folder: Folder;
  #fold: JournalFold = emptyJournal;
  /** Who writes, or is about to. */
  #driver: Promise<Driver> | undefined;
  #turn: JournalTurn | undefined;
  #inFlight = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Resolves when the lease that it had last is given back: until then it would find itself in its way. */
  #released: Promise<unknown> = Promise.resolve();
  #stopIdling: () => void = () => {};
  #isClosed = false;

  constructor(taskId: string, options: JournalOptions) {
    this.taskId = taskId;
    this.#session = sessionId(taskId);
    this.#options = options;
    this.#idleMs = options.idleMs ?? defaultIdleMs;
    this.#folder = new Folder(this.#session);
  }

  /** What waits in the queue, as of now. */
  async commands(): Promise<JournalFold['commands']> {
    await this.#refresh();
    return this.#fold.commands;
  }

  /** What nobody has finished, as of now. */
  async openWork(): Promise<OpenWork> {
    await this.#refresh();
    const { commands, turn } = this.#fold;
    const isRunOpen = this.#folder.state.run !== undefined;
    return { commands, isRunOpen, isTurnOpen: turn !== undefined, asked: askedOf(this.#fold) };
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
    if (this.#isClosed) return Promise.reject(closedJournal(this.taskId));
    const appended = this.#write(drafts);
    this.#last = appended;
    appended.catch(() => {});
    return appended;
  }

  async beginTurn(
    about: (runId: RunId) => readonly DraftRecord[] = () => [],
    trace?: TraceContext,
  ): Promise<JournalTurn> {
    if (this.#turn !== undefined) throw oneAtATime(this.taskId);
    // Before it is known which turn comes next, whatever was left open is ended.
    await this.append([]);
    if (this.#turn !== undefined) throw oneAtATime(this.taskId);
    const driver = this.#driver;
    const turn = this.#fold.lastTurn + 1;
    const runId = this.#options.ids.run();
    const isOurs = () => this.#driver === driver && this.#turn === begun;
    const begun: JournalTurn = {
      ...{ turn, attempt: 1, runId, after: this.#folder.state.through, trace },
      append: (drafts) =>
        isOurs() ? this.append(drafts) : Promise.reject(turnOver(this.taskId, turn)),
      finish: async (stop, error) => {
        if (!isOurs()) throw turnOver(this.taskId, turn);
        const at = { turn, attempt: 0 };
        const reported: readonly DraftRecord[] =
          error === undefined ? [] : [{ ...at, fact: { type: 'error_reported', error } }];
        await this.append([
          ...reported,
          { ...at, fact: { type: 'turn_finished', stop } },
          { turn: 0, attempt: 0, fact: { type: 'run_finished', runId, stop } },
        ]);
        this.#turn = undefined;
        this.#rest();
      },
    };
    this.#turn = begun;
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
    return begun;
  }

  async consume(key: string): Promise<void> {
    await this.append([{ turn: 0, attempt: 0, fact: { type: 'command_consumed', key } }]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopIdling();
    await this.#last.catch(() => {});
    await this.#release();
  }

  async #write(drafts: readonly DraftRecord[]): Promise<Batch> {
    this.#stopIdling();
    this.#inFlight++;
    this.#driver ??= this.#open();
    const opened = this.#driver;
    try {
      const driver = await opened;
      const batch = await driver.append(drafts);
      this.#take(batch);
      return batch;
    } catch (error) {
      // Nobody knows what a later append would follow: the next one begins by reading what is there.
      if (this.#driver === opened) this.#forget();
      throw journalError(this.taskId, error);
    } finally {
      this.#inFlight--;
      this.#rest();
    }
  }

  async #open(): Promise<Driver> {
    const { holder = 'server', isMending = true, onMended, patienceMs = 0 } = this.#options;
    await this.#released;
    const { through: from } = this.#folder.state;
    const wait = { ...this.#options, patienceMs };
    const driver = await takeLease(this.#session, { holder, from }, wait);
    try {
      this.#take(await driver.append([]));
      const mending = isMending ? mendingDrafts(this.#folder.state, this.#fold) : [];
      if (mending.length === 0) return driver;
      this.#take(await driver.append(mending));
      await onMended?.(this.taskId);
      return driver;
    } catch (error) {
      await driver.release().catch(() => {});
      throw error;
    }
  }

  #take(batch: Batch): void {
    const { through } = this.#folder.state;
    for (const record of batch.records)
      if (record.offset > through) this.#fold = foldJournal(this.#fold, record);
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
      const page = await log.read(this.#session, { from: through }).catch(ifThere);
      if (page === undefined || page.through <= through) return;
      this.#take(page);
    }
  }

  #forget(): void {
    this.#driver = undefined;
    this.#turn = undefined;
  }

  /** Begins to wait for the next write, unless something goes on. */
  #rest(): void {
    this.#stopIdling();
    if (this.#inFlight > 0 || this.#turn !== undefined || this.#isClosed) return;
    const idle = () => void this.#release().then(this.#options.onIdle, () => {});
    this.#stopIdling = this.#options.clock.after(this.#idleMs, idle, { isIdle: true });
  }

  async #release(): Promise<void> {
    const driver = this.#driver;
    this.#forget();
    if (driver === undefined) return;
    this.#released = driver.then((held) => held.release()).catch(() => {});
    await this.#released;
  }
}

function ifThere(error: unknown): undefined {
  if (isMillraceError(error) && error.code === 'no_session') return undefined;
  throw error;
}

function oneAtATime(taskId: string): ServerError {
  const message = `Cannot begin a turn of task ${taskId}: one goes on. Wait for its end, or interrupt it`;
  return new ServerError('conflict', message, { task: taskId });
}
