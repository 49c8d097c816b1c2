import {
  type Batch,
  type DraftRecord,
  type ErrorInfo,
  Folder,
  type FoldState,
  type FormQuestion,
  type Ids,
  isCut,
  isMillraceError,
  type RunId,
  type SessionId,
  sessionId,
  type TraceContext,
  toArray,
} from '@millrace/core';
import {
  type Clock,
  type Driver,
  type LoadedSession,
  type Log,
  LogError,
  type SessionFold,
  sessionStates,
} from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import type { JournalTurn, TaskJournal } from '../contract/task-journal.ts';
import { journalClosed, journalError, turnFinished } from './journal-errors.ts';
import {
  type CallDecision,
  decisionOn,
  emptyJournalState,
  foldJournal,
  type JournalState,
  type QueuedCommand,
  runnableCommands,
} from './journal-state.ts';
import { takeLease } from './session-lease.ts';
import { repairDrafts } from './turn-closing.ts';

/** Options of a journal. */
export interface JournalOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: Ids;
  /**
   * The name of the lease holder. It appears in the errors of other processes that try to open the session.
   * Default: `server`.
   */
  readonly holder?: string | undefined;
  /** The time for which the journal keeps the lease without a write, in milliseconds. Default: 500. */
  readonly idleMs?: number | undefined;
  /** The time to wait for a lease that a different process holds, in milliseconds. Default: 0. */
  readonly leaseWaitMs?: number | undefined;
  /**
   * True if the journal ends the runs, turns and items that a crashed process left unfinished. False for
   * agent loops, because a loop does this itself. Default: true.
   */
  readonly repairsOnOpen?: boolean | undefined;
  /**
   * Called after the journal has ended a turn of a crashed process. `epoch` is the epoch of the journal's
   * lease.
   */
  readonly onRepaired?: ((taskId: string, epoch: number) => Promise<void>) | undefined;
  readonly onIdle?: (() => void) | undefined;
}

/** The fold that computes the journal's state. The log caches the result together with the session state. */
const journalFold: SessionFold<JournalState> = {
  initial: emptyJournalState,
  apply: foldJournal,
  stored: {
    name: 'journal',
    version: 2,
    // The journal needs only items that are unfinished, or that belong to the last turn or the last run.
    // Older items are loaded only to list messages.
    needs: ({ lastTurn, runId }, { turn, run, finished }) =>
      finished === undefined ||
      (turn > 0 && turn >= lastTurn) ||
      (run !== undefined && run === runId),
  },
};

/**
 * Loads the state of a session for work on its last run. The state may omit items of earlier runs. Loading
 * therefore takes the same time for long and short sessions.
 */
export function loadRecentState(
  log: Log,
  session: SessionId,
): Promise<LoadedSession<JournalState>> {
  return sessionStates(log).load(session, journalFold);
}

/**
 * The default of `idleMs`. It is short, because different servers with the same store may wait for the lease.
 */
const defaultIdleMs = 500;

/** The unfinished work of a session. */
export interface OpenWork {
  /** The offset of the last record that was read. */
  readonly through: number;
  readonly isRunOpen: boolean;
  readonly isTurnOpen: boolean;
  readonly commands: readonly QueuedCommand[];
  /** The commands for which a run of an agent loop must be started. */
  readonly runnable: readonly QueuedCommand[];
}

/** The status of a call for a caller that wants to decide about it. */
export interface CallStatus {
  /** The offset of the last record that the status includes. */
  readonly through: number;
  /** The form of the question. Undefined if the question is whether the call may run. */
  readonly form: FormQuestion | undefined;
  readonly isAsked: boolean;
  /** The decision that an earlier command with this key made. */
  readonly repeated: CallDecision | undefined;
  /** True if a decision about the call is in the queue and has not been consumed yet. */
  readonly isSubmitted: boolean;
  /**
   * `open`: the call belongs to the current run and has no result yet. `over`: nobody can decide about it any
   * more. Undefined if there is no call with this id.
   */
  readonly call: 'open' | 'over' | undefined;
  readonly decision: CallDecision | undefined;
}

/**
 * Finds a call in the transcript and returns its status. It searches the newest items first, because most
 * decisions are about recent calls.
 */
function findCall({ items, run }: FoldState, toolCallId: string): CallStatus['call'] {
  for (const item of toArray(items).toReversed())
    for (const { part } of item.parts) {
      if (part?.kind === 'tool_result' && part.toolCallId === toolCallId) return 'over';
      if (part?.kind === 'tool_call' && part.toolCallId === toolCallId)
        return run !== undefined && item.run === run ? 'open' : 'over';
    }
  return undefined;
}

/**
 * The journal of a task. It updates the session's state with each write. All writers in the process share its
 * lease.
 */
export class LocalJournal implements TaskJournal {
  readonly taskId: string;
  readonly #session: SessionId;
  readonly #options: JournalOptions;
  readonly #idleMs: number;
  #folder: Folder;
  #state: JournalState = emptyJournalState;
  /** The incarnation of the folded records. Undefined until the session has been read. */
  #incarnation: string | undefined;
  /** The driver that holds the lease, or the pending request for the lease. */
  #driver: Promise<Driver> | undefined;
  #turn: JournalTurn | undefined;
  #inFlight = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Resolves when the previous lease is released. The journal must not request the next lease earlier. */
  #released: Promise<unknown> = Promise.resolve();
  #stopIdleTimer: () => void = () => {};
  #isClosed = false;
  /**
   * True if content was redacted after the journal read the session. The state in memory may still contain
   * this content.
   */
  #hasRedaction = false;

  constructor(taskId: string, options: JournalOptions) {
    this.taskId = taskId;
    this.#session = sessionId(taskId);
    this.#options = options;
    this.#idleMs = options.idleMs ?? defaultIdleMs;
    this.#folder = new Folder(this.#session);
  }

  /** Reads new records and returns the queued commands. */
  async commands(): Promise<JournalState['commands']> {
    await this.#refresh();
    return this.#state.commands;
  }

  /** Reads new records and returns the unfinished work. */
  async openWork(): Promise<OpenWork> {
    await this.#refresh();
    const { commands, turn } = this.#state;
    const { through, run } = this.#folder.state;
    return {
      ...{ through, commands },
      isRunOpen: run !== undefined,
      isTurnOpen: turn !== undefined,
      runnable: runnableCommands(this.#state),
    };
  }

  /** Reads new records. Returns whether a call waits for a decision, and an existing decision. */
  async callStatus(toolCallId: string, key: string): Promise<CallStatus> {
    await this.#refresh();
    const { state } = this.#folder;
    const { decisions, commands } = this.#state;
    const asked = state.asked.find((one) => one.toolCallId === toolCallId);
    return {
      through: state.through,
      isAsked: asked !== undefined,
      form: asked?.from?.form,
      repeated: decisions.find((made) => made.key === key),
      isSubmitted: commands.some(({ command }) => command['toolCallId'] === toolCallId),
      // If the recent items do not contain the call, all items are searched, because the call may have ended
      // long ago.
      call: findCall(state, toolCallId) ?? findCall(await this.#wholeState(), toolCallId),
      decision: decisionOn(this.#state, toolCallId),
    };
  }

  /** Reads new records. Returns the first decision about a call after an offset. The log counts only this one. */
  async firstDecision(toolCallId: string, after: number): Promise<CallDecision | undefined> {
    await this.#refresh();
    const { decisions } = this.#state;
    return decisions.find((made) => made.toolCallId === toolCallId && made.offset > after);
  }

  /** True while a write is pending, a turn is active or the lease is held. */
  get isBusy(): boolean {
    return this.#inFlight > 0 || this.#turn !== undefined || this.#driver !== undefined;
  }

  async state(): Promise<FoldState> {
    await this.recentState();
    return this.#wholeState();
  }

  /** Reads new records and returns the state. It may omit items of earlier runs. */
  async recentState(): Promise<FoldState> {
    if (this.#driver === undefined) await this.#refresh();
    else await this.#last.catch(() => {});
    return this.#folder.state;
  }

  /** Loads the state with all items. From then on, the journal uses this state. */
  async #wholeState(): Promise<FoldState> {
    if (!isCut(this.#folder.state.items)) return this.#folder.state;
    const { state, incarnation } = await sessionStates(this.#options.log).load(this.#session);
    // The journal uses the loaded state only if it has the same incarnation and the same last record.
    const isSame = incarnation === this.#incarnation;
    if (isSame && state.through === this.#folder.state.through) this.#folder = new Folder(state);
    return state;
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
    // The empty append acquires the lease and ends unfinished work of a crashed process. Only after that is
    // the number of the next turn known.
    await this.append([]);
    if (this.#turn !== undefined) throw turnInProgress(this.taskId);
    const driver = this.#driver;
    const { epoch = 0 } = (await driver) ?? {};
    if (this.#driver !== driver || this.#turn !== undefined) throw turnInProgress(this.taskId);
    const turn = this.#state.lastTurn + 1;
    const runId = this.#options.ids.run();
    const isOurs = () => this.#driver === driver && this.#turn === started;
    const started: JournalTurn = {
      ...{ turn, attempt: 1, runId, epoch, after: this.#folder.state.through, trace },
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

  async consume(key: string, error?: ErrorInfo): Promise<void> {
    const fact = { type: 'command_consumed', key, ...(error && { error }) } as const;
    await this.append([{ turn: 0, attempt: 0, fact }]);
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
      // After a failed append, the position in the log is unknown. The next append therefore opens and reads
      // the session again.
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
    await this.#start();
    const { through: from } = this.#folder.state;
    const wait = { ...this.#options, leaseWaitMs };
    const options = { holder, from, incarnation: this.#incarnation };
    const driver = await takeLease(this.#session, options, wait).catch((error: unknown) => {
      this.#restartIfRewound(error);
      throw error;
    });
    this.#incarnation = driver.incarnation;
    try {
      this.#apply(await driver.append([]));
      const repairs = repairsOnOpen ? repairDrafts(this.#folder.state, this.#state) : [];
      if (repairs.length === 0) return driver;
      this.#apply(await driver.append(repairs));
      await onRepaired?.(this.taskId, driver.epoch);
      return driver;
    } catch (error) {
      await driver.release().catch(() => {});
      if (this.#incarnation !== undefined) throw error;
      // The journal was reset. After it has read the session again, it has all items.
      return this.#open();
    }
  }

  #apply(batch: Batch): void {
    const { through } = this.#folder.state;
    for (const record of batch.records) {
      if (record.offset <= through) continue;
      this.#state = foldJournal(this.#state, record);
      if (record.fact?.type === 'item_redacted') this.#hasRedaction = true;
    }
    const folded = this.#folder.addBatch(batch);
    if (folded.outcome !== 'gap') return;
    // The batch may change an old item that is not in memory. In this case the session is read again.
    if (isCut(this.#folder.state.items)) this.#restart();
    const message = `Cannot fold task ${this.taskId} after offset ${through}: the records do not match the state (${folded.gap.code}). Restore a backup`;
    throw new LogError('corrupt', message, { session: this.taskId, offset: through });
  }

  /**
   * Reads new records. If the journal holds the lease, an empty append returns the records of other writers.
   * Otherwise the journal reads the log.
   */
  async #refresh(): Promise<void> {
    if (this.#driver !== undefined && !this.#isClosed) {
      await this.append([]);
      return;
    }
    const known = this.#incarnation;
    try {
      await this.#readNew();
    } catch (error) {
      const wasRestarted = known !== undefined && this.#incarnation === undefined;
      if (!wasRestarted && !this.#restartIfRewound(error)) throw error;
      await this.#readNew();
    }
  }

  async #readNew(): Promise<void> {
    await this.#start();
    const { log } = this.#options;
    for (;;) {
      const { through: from } = this.#folder.state;
      const incarnation = this.#incarnation;
      const page = await log.read(this.#session, { from, incarnation }).catch(undefinedIfMissing);
      if (page === undefined || page.through <= from) return;
      this.#apply(page);
    }
  }

  /**
   * Starts with the state of the session that the process has in memory. Otherwise the journal would have to
   * read from the first record.
   */
  async #start(): Promise<void> {
    if (this.#incarnation !== undefined) return;
    const states = sessionStates(this.#options.log);
    const loaded = await states.load(this.#session, journalFold).catch(undefinedIfMissing);
    if (loaded === undefined || this.#incarnation !== undefined) return;
    this.#folder = new Folder(loaded.state);
    this.#state = loaded.value;
    this.#incarnation = loaded.incarnation;
  }

  /**
   * Returns true if the error is a rewind. In this case it resets the journal, which then reads the session
   * from its start.
   */
  #restartIfRewound(error: unknown): boolean {
    if (!isMillraceError(error) || error.code !== 'rewound') return false;
    this.#restart();
    return true;
  }

  /** Resets the journal. Its next access reads the session again. */
  #restart(): void {
    sessionStates(this.#options.log).forget(this.#session);
    this.#folder = new Folder(this.#session);
    this.#state = emptyJournalState;
    this.#incarnation = undefined;
  }

  /** Keeps the state in memory for the next journal of the task. */
  #keep(): void {
    const incarnation = this.#incarnation;
    if (incarnation === undefined) return;
    const kept = { state: this.#folder.state, value: this.#state, incarnation };
    const states = sessionStates(this.#options.log);
    if (this.#hasRedaction) states.forget(this.#session);
    else states.keep(journalFold, kept);
  }

  #dropDriver(): void {
    this.#driver = undefined;
    this.#turn = undefined;
  }

  /** Starts the idle timer unless work is pending. */
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
    this.#keep();
    this.#released = driver.then((held) => held.release()).catch(() => {});
    await this.#released;
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (isMillraceError(error) && error.code === 'no_session') return undefined;
  throw error;
}

function turnInProgress(taskId: string): ServerError {
  const message = `Cannot start a turn of task ${taskId}: another one is active. Wait for its end, or interrupt it`;
  return new ServerError('conflict', message, { task: taskId });
}
