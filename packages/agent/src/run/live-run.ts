import {
  type AgentEvent,
  emptyState,
  type FoldState,
  type Item,
  type LogRecord,
  type NewBytes,
  type OnStep,
  type RunId,
  type SessionId,
  type Stop,
  type TraceContext,
  toArray,
} from '@millrace/core';
import type { Driver } from '@millrace/log';
import { abort } from '../abortable.ts';
import { StepToolbox } from '../context/step-toolbox.ts';
import { textOfError } from '../contract/agent-error.ts';
import type { Decision } from '../contract/command.ts';
import type { LoopState } from '../contract/loop-state.ts';
import type { Observer } from '../contract/observer.ts';
import type { ParentCall } from '../contract/parent-call.ts';
import type {
  ApproveOptions,
  ClientToolResult,
  DenyOptions,
  InputOfCall,
  Run,
  RunInput,
  RunResult,
  UiStreamOptions,
} from '../contract/run.ts';
import type { RunContext } from '../contract/run-context.ts';
import { RunError } from '../contract/run-error.ts';
import type { Settings } from '../contract/settings.ts';
import type { PendingApproval, PendingToolCall } from '../contract/typed-tools.ts';
import { receiveForeignRecords, SessionJournal } from '../session/journal.ts';
import { type DrivenSession, keepSession, openSession } from '../session/open-session.ts';
import {
  activeCommands,
  agentOfWork,
  isCallAnswer,
  queuedAborts,
  startsQueuedInput,
} from '../state/commands.ts';
import { runStarted } from '../state/drafts.ts';
import { traceForNewRun } from '../state/run-trace.ts';
import { runStreams } from '../views/run-streams.ts';
import {
  createRunResult,
  failedResult,
  type RunEventSource,
  runEvents,
} from '../views/run-views.ts';
import { activeSettings, settingsWhileAsking } from './agent-registry.ts';
import type { ChildLink } from './child-link.ts';
import { CommandSender } from './command-sender.ts';
import { RunLoop } from './loop.ts';
import { UniqueCallIds } from './provider-deltas.ts';
import { noOutput, notUnderstood, runLeft, withStoredPart } from './run-errors.ts';
import { type DrivingAgents, findAgents, startRun } from './start-run.ts';

interface LiveRunOptions {
  readonly session: SessionId;
  readonly input: readonly Item[] | undefined;
  readonly signal: AbortSignal | undefined;
  /** True if the session id was generated for this run. Default: false. */
  readonly isNew?: boolean | undefined;
  /** Stops the run so that a different process can resume it. The log does not get the end of the run. */
  readonly leave?: AbortSignal | undefined;
  /** The trace for the run, if the run starts here. */
  readonly trace?: TraceContext | undefined;
  /** Additional observers, besides the agent's own observers. */
  readonly observers?: readonly Observer[] | undefined;
  /** The value that tools and functions of the agent get as `context`. The log does not store it. */
  readonly context?: unknown;
  /** The tool call that runs this run's agent. Undefined if the agent is not a sub-agent. */
  readonly parent?: ParentCall | undefined;
  /**
   * If true, the input becomes part of an open run that is between turns. Otherwise the input waits until
   * that run has ended.
   */
  readonly joinsOpenRun?: boolean | undefined;
  /** Checks the state of the opened session. If it throws, the run does not drive the session. */
  readonly accept?: ((loop: LoopState) => void) | undefined;
  /** Creates or checks the session before it is opened. */
  readonly prepare?: (() => Promise<unknown>) | undefined;
}

/** The time for which a run waits for its running tool calls after the leave signal, in milliseconds. */
const leaveGraceMs = 2000;
/**
 * One run, from its first record to its last. It opens the session, recovers interrupted work, starts the
 * run, drives the loop and closes the session. Commands to the run go through the log, like commands of other
 * processes.
 */
export class LiveRun implements Run {
  readonly session: SessionId;
  readonly epoch: Promise<number | undefined>;
  readonly result: Promise<RunResult>;
  readonly #settings: Settings;
  readonly #options: LiveRunOptions;
  /** Aborts when the run has to stop. */
  readonly #stop = new AbortController();
  readonly #opened: PromiseWithResolvers<OpenedSession> = Promise.withResolvers();
  readonly #epoch: PromiseWithResolvers<number | undefined> = Promise.withResolvers();
  readonly #commands: CommandSender;
  /** Aborts when the run has ended. */
  readonly #ended = new AbortController();
  /** Aborts when this process gives the session up so that a different process can continue it. */
  readonly #leaving = new AbortController();
  #link: ChildLink | undefined;
  /** The tools of the active agent. They change after a hand-off. */
  #tools: () => Settings['tools'];
  #id: RunId;
  #through = 0;
  /**
   * The offset after which the run's own records begin. Undefined until an earlier, unfinished run has been
   * ended.
   */
  #begins: number | undefined;
  /**
   * Resolves when `#begins` has its value, with the state of the opened session. The state is undefined if
   * the run could not start.
   */
  readonly #begun: PromiseWithResolvers<FoldState | undefined> = Promise.withResolvers();
  /** The ids of the calls whose answers were already queued when the session was opened. */
  #answered: readonly string[] = [];
  /** True if this agent, or an agent that it can hand off to, has an `output` schema. */
  #hasOutput = true;
  #onRecord: (record: LogRecord) => void = () => {};
  /** Returns true if the run parks while a call waits. The value may change after a hand-off. */
  #parks: () => boolean = () => false;

  constructor(settings: Settings, options: LiveRunOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#tools = () => settings.tools;
    this.session = options.session;
    this.epoch = this.#epoch.promise;
    this.#id = settings.ids.run();
    this.#opened.promise.catch(() => {});
    this.#commands = new CommandSender({
      ...{ settings, session: this.session, trace: options.trace },
      ...{ opened: this.#opened.promise, runId: () => this.id, stopped: this.#stop.signal },
      tools: () => this.#tools(),
    });
    this.result = this.#run();
  }

  get id(): RunId {
    return this.#id;
  }

  get events(): AsyncIterable<AgentEvent> {
    const source = this.#source();
    return { [Symbol.asyncIterator]: () => runEvents(source) };
  }

  toReadableStream(): ReadableStream<AgentEvent> {
    return this.#streams().toReadableStream();
  }

  toEventStream(): ReadableStream<NewBytes> {
    return this.#streams().toEventStream();
  }

  toUIMessageStreamResponse(options?: UiStreamOptions): Response {
    return this.#streams().toUIMessageStreamResponse(options);
  }

  #streams(): ReturnType<typeof runStreams> {
    return runStreams(this.#source(), this.result);
  }

  #source(): RunEventSource {
    const { log } = this.#settings;
    const through = () => this.#through;
    const initialState = this.#begun.promise;
    const begins = () => this.#begins;
    const answered = () => this.#answered;
    const parks = () => this.#parks();
    const hasOutput = () => this.#hasOutput;
    const ended = this.#ended.signal;
    return { log, initialState, begins, ended, through, answered, parks, hasOutput };
  }

  async text(): Promise<string> {
    const result = await this.result;
    if (result.reason === 'stop') return result.text;
    throw new RunError(result);
  }

  async value(): Promise<unknown> {
    const { output, name } = this.#settings;
    if (output === undefined) throw noOutput(name);
    const result = await this.result;
    if (result.reason === 'stop') return result.value;
    throw new RunError(result);
  }

  abort(reason?: string): Promise<void> {
    return this.#commands.abort(reason);
  }

  steer(input: RunInput): Promise<void> {
    return this.#commands.steer(input);
  }

  followUp(input: RunInput): Promise<void> {
    return this.#commands.followUp(input);
  }

  compact(): Promise<void> {
    return this.#commands.compact();
  }

  approve<const Call extends string | PendingApproval>(
    call: Call,
    options?: ApproveOptions<InputOfCall<Call>>,
  ): Promise<void> {
    return this.#commands.approve(call, options);
  }

  deny(call: string | PendingApproval, options?: DenyOptions): Promise<void> {
    return this.#commands.deny(call, options);
  }

  provideToolResult(
    call: string | PendingToolCall,
    result: ClientToolResult<unknown>,
  ): Promise<void> {
    return this.#commands.provideToolResult(call, result);
  }

  async #run(): Promise<RunResult> {
    const { parent } = this.#options;
    let driver: Driver | undefined;
    let result: RunResult | undefined;
    try {
      await this.#options.prepare?.();
      parent?.checkPrices(this.#settings.providers);
      const { signal } = this.#options;
      const { driver: opened, from } = await openSession(this.#settings, this.session, {
        ...{ parent, signal, isNew: this.#options.isNew === true },
      });
      driver = opened;
      this.#epoch.resolve(driver.epoch);
      result = await this.#drive(driver, from);
    } catch (error) {
      this.#opened.reject(error);
      this.#begun.resolve(undefined);
      result = failedResult(this.session, await withStoredPart(this.session, this.#through, error));
    } finally {
      this.#commands.close();
      abort(this.#ended);
      this.#epoch.resolve(undefined);
      await driver?.release().catch(() => {});
    }
    parent?.end(result.stop, this.#link?.asked ?? []);
    return result;
  }

  async #drive(driver: Driver, from: DrivenSession['from']): Promise<RunResult> {
    const journal = await this.#journalOf(driver, from);
    await journal.open();
    this.#options.accept?.(journal.loop);
    const { registry, fault } = await findAgents(this.#settings, journal.loop);
    if (fault !== undefined && !this.#hasWaitingSender(journal)) throw fault.error;
    const opened = journal.state;
    if (opened.notUnderstood.length > 0) throw notUnderstood(this.session, opened.notUnderstood);
    this.#through = opened.through;
    // If a sub-agent continues an earlier run, the result covers its whole session.
    const before = this.#isContinued(journal) ? emptyState(this.session) : opened;
    const context = this.#contextOf(journal, before, { registry, fault });
    this.#parks = () => context.settings.whileAsking === 'park';
    this.#tools = () => context.settings.tools;
    const loop = new RunLoop(context, {
      abort: () => abort(this.#stop),
      flushCommands: () => this.#commands.flush(journal),
      fault,
    });
    this.#onRecord = (record) => loop.onRecord(record);
    driver.lost.then((error) => this.#fail(journal, error)).catch(() => {});
    this.#watchLeaveSignal(journal, loop);
    const stale = queuedAborts(journal.loop);
    this.#answered = journal.loop.commands.flatMap(({ command }) =>
      isCallAnswer(command) ? command.toolCallId : [],
    );
    this.#opened.resolve({ journal });
    const leave = await this.#watchAbortSignal();
    const listening = this.#receiveForeignRecords(journal);
    try {
      await this.#link?.open();
      const isContinued = this.#isContinued(journal);
      const newItems = isContinued ? [] : (this.#options.input ?? []);
      const { joinsOpenRun = false, trace } = this.#options;
      await startRun({
        ...{ context, loop, stale, newItems, isContinued, joinsOpenRun, trace },
        commands: this.#commands,
        newId: this.id,
        onBegin: (through) => {
          this.#begins = through;
          this.#begun.resolve(opened);
        },
        onOpenRun: (id) => {
          this.#id = id;
        },
      });
      const stop = await this.#driveToEnd(loop, journal);
      const { value, cause } = loop;
      return createRunResult(before, journal.state, stop, newItems, {
        value,
        error: journal.loop.lastError,
        cause,
        blockedBy: journal.loop.blockedBy,
      });
    } finally {
      leave();
      this.#commands.close();
      abort(this.#stop);
      await loop.halt();
      abort(this.#ended);
      await listening;
      keepSession(this.#settings.log, driver, journal);
    }
  }

  /**
   * Handles the leave signal. After the signal, the run writes only the results of calls that finish within
   * the grace period.
   */
  #watchLeaveSignal(journal: SessionJournal, loop: RunLoop): void {
    const { leave: own, parent } = this.#options;
    const signals = [own, parent?.leave].filter((signal) => signal !== undefined);
    const leave = signals.length > 0 ? AbortSignal.any(signals) : undefined;
    const why = () => runLeft(this.session, this.id);
    const lose = () => this.#fail(journal, why());
    const onLeave = () => {
      abort(this.#leaving);
      const cancel = this.#settings.clock.after(leaveGraceMs, lose);
      void loop.leave(why()).then(lose).finally(cancel);
    };
    if (leave?.aborted) lose();
    leave?.addEventListener('abort', onLeave, { signal: this.#ended.signal });
  }

  #fail(journal: SessionJournal, error: Error): void {
    journal.fail(error);
    // `#leaving` aborts first, so sub-agents keep their sessions open for the next process and do not abort
    // them.
    abort(this.#leaving);
    abort(this.#stop);
  }

  /**
   * Returns true if a run that cannot work must still end on the log, because the senders of queued messages wait for
   * its end. An open turn stays as it is, and its messages wait with it.
   */
  #hasWaitingSender({ loop }: SessionJournal): boolean {
    const isQueued = activeCommands(loop.commands).some(
      ({ command }) => command.type === 'message',
    );
    return isQueued && loop.turn === undefined && (this.#options.input ?? []).length === 0;
  }

  /**
   * Returns true if this is the run of a sub-agent and an earlier process or run has already started its
   * session.
   */
  #isContinued({ state }: Pick<SessionJournal, 'state'>): boolean {
    return this.#options.parent?.isContinued === true && toArray(state.items).length > 0;
  }

  #contextOf(
    journal: SessionJournal,
    initialState: FoldState,
    { registry, fault }: DrivingAgents,
  ): RunContext {
    const settings = this.#settings;
    this.#hasOutput = [...registry.values()].some(({ output }) => output !== undefined);
    const callIds = new UniqueCallIds(settings.ids, journal.state);
    const phase = { isAborting: false, isTurnEnding: false, isRunEnding: false };
    const { observers, parent, context } = this.#options;
    const adapt = parent === undefined ? undefined : settingsWhileAsking(parent.whileAsking);
    const toolbox = new StepToolbox();
    const active = () => {
      const found =
        fault === undefined ? activeSettings(registry, settings, journal.loop.agent) : settings;
      return adapt === undefined ? found : adapt(found);
    };
    const source = { journal, context, session: this.session };
    return {
      ...{ ...source, callIds, phase, initialState, signal: this.#stop.signal },
      ...{ observers, parent, leave: this.#leaving.signal },
      loadStepTools: (turn) => toolbox.load(active(), turn, source),
      get settings() {
        return toolbox.apply(active(), journal.loop.turn?.turn);
      },
    };
  }

  async #journalOf(driver: Driver, from: DrivenSession['from']): Promise<SessionJournal> {
    const observe = await this.#observer();
    const { parent } = this.#options;
    const link = parent && (await this.#linkWith(parent, () => journal));
    const onRecord = (record: LogRecord) => {
      this.#through = record.offset;
      this.#onRecord(record);
      link?.onRecord(record);
    };
    const { name: agent } = this.#settings;
    const onStep: OnStep | undefined = link && ((_before, record) => link.track(record));
    // The code loads on demand, because redactions are rare.
    const again = async (through: number) => {
      const { refold } = await import('../session/reopen-session.ts');
      return refold(this.#settings.log, this.session, through);
    };
    const journal = new SessionJournal({
      ...{ driver, from, refold: again },
      ...{ observe, onRecord, onStep, agent },
    });
    this.#link = link;
    return journal;
  }

  /**
   * Returns the function that calls the observers. Returns undefined if there are no observers. The code
   * loads on demand.
   */
  async #observer(): Promise<Observer | undefined> {
    const { onDiagnostic, clock } = this.#settings;
    const observers = [...this.#settings.observers, ...(this.#options.observers ?? [])];
    if (observers.length === 0) return undefined;
    const { Observers } = await import('../observers/observers.ts');
    return new Observers(observers, { clock, onDiagnostic }).observe;
  }

  /** Connects the run of a sub-agent with its caller. The code loads on demand. */
  async #linkWith(parent: ParentCall, journal: () => SessionJournal): Promise<ChildLink> {
    const { ChildLink } = await import('./child-link.ts');
    const { session } = this;
    const agent = () => journal().loop.agent ?? this.#settings.name;
    const decide = (decision: Decision, key: string) => this.#commands.submit(decision, key);
    return new ChildLink({ parent, session, journal, agent, decide });
  }

  /** Drives the run to its end. If messages arrived during the run, it then starts a new run for them. */
  async #driveToEnd(loop: RunLoop, journal: SessionJournal): Promise<Stop> {
    for (;;) {
      const stop = await loop.drive();
      await this.#commands.flush(journal);
      const { loop: left } = journal;
      const isAsked = activeCommands(left.commands).some(
        ({ command }) => command.type === 'message' || command.type === 'compact',
      );
      // If the next input names another agent, a worker starts the next run with that agent.
      const isMine = agentOfWork(left) === left.enqueuedFor;
      if (!isAsked || !isMine || !startsQueuedInput(stop)) {
        this.#commands.close();
        return stop;
      }
      this.#id = this.#settings.ids.run();
      await journal.write([runStarted(this.id, traceForNewRun(journal.loop))]);
    }
  }

  /**
   * Aborts the run when the caller's signal aborts, even before the first request. Returns a function
   * that removes the listener.
   */
  async #watchAbortSignal(): Promise<() => void> {
    const { signal } = this.#options;
    const stop = async () => {
      if (!this.#leaving.signal.aborted) await this.abort(textOfError(signal?.reason));
    };
    const onAbort = () => void stop().catch(() => {});
    if (signal?.aborted) await stop();
    signal?.addEventListener('abort', onAbort);
    return () => signal?.removeEventListener('abort', onAbort);
  }

  /** Receives the records of other writers. Errors are ignored here, because the next write reports them. */
  #receiveForeignRecords(journal: SessionJournal): Promise<void> {
    const { log, clock, fetchesWhileWriting } = this.#settings;
    const { session } = this;
    const ended = this.#ended.signal;
    return receiveForeignRecords({
      ...{ log, session, journal, clock, ended, fetchesWhileWriting },
    }).catch(() => {});
  }
}

/** The opened session of a run. */
interface OpenedSession {
  readonly journal: SessionJournal;
}
