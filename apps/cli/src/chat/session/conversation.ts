import { AgentError, type Run, type RunResult } from '@millrace/agent';
import type { AgentEvent, Item, JsonObject, RunId, SessionId } from '@millrace/core';
import { LogError } from '@millrace/log';
import { note } from '../contract/block.ts';
import type { ChatState, QueuedMessage } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { CommandEnds } from './command-ends.ts';
import type { ConversationOptions } from './conversation-options.ts';
import { type DriverStatus, DriverWatcher, driverStatus } from './driver-watcher.ts';
import { LateMessages } from './late-messages.ts';
import { type MessageContent, MessageQueue, messageText } from './message-item.ts';
import {
  type ApprovalOptions,
  approveCommand,
  denyCommand,
  messageCommand,
  Withdrawals,
} from './session-commands.ts';
import { type OpenedSession, SessionView } from './session-view.ts';

const defaultAnsweredBy = 'you, in the terminal';

/**
 * One session in the chat. It follows the log. To drive a session means to run its turns, and only
 * one process at a time can do this. If no other process drives the session, this class drives it.
 *
 * All commands go through the log, so they have the same effect if a different process drives.
 */
export class Conversation {
  readonly session: SessionId;
  /** The ends of the background commands. */
  readonly commandEnds: CommandEnds;
  readonly #options: ConversationOptions;
  readonly #view: SessionView;
  readonly #driverWatcher: DriverWatcher;
  /** The keys of messages that this process submitted while a different process drives. */
  readonly #submittedMessages = new Set<string>();
  readonly #withdrawals = new Withdrawals();
  readonly #lateMessages = new LateMessages();
  readonly #messages: MessageQueue;
  readonly #leaving = new AbortController();
  /** The run that this process drives. */
  #run: Run | undefined;
  /**
   * A run of this process that ended because the log could not be written. No process will continue
   * it.
   */
  #failedRun: RunId | undefined;
  /** The text that started the run. Undefined after the log contains it. */
  #unrecordedText: string | undefined;
  #holder: string | undefined;
  /** Resolves when the lost background commands are known. */
  #isComplete: Promise<void> = Promise.resolve();
  /** The error of every attempt to drive the session. Undefined if this process may drive it. */
  #refusal: Error | undefined;
  #isClosed = false;

  constructor(options: ConversationOptions) {
    const { session, log, clock, print, onChange, onBatch, start } = options;
    this.session = session;
    this.#options = options;
    this.commandEnds = new CommandEnds(options);
    const isPlanning = () => this.state.isPlanning;
    const onNote = (text: string) => print([note('dim', text)]);
    this.#messages = new MessageQueue({ ...options, isPlanning, onNote });
    const onError = (error: unknown) => this.#printError(error);
    const onEvent = (event: AgentEvent) => this.#handleEvent(event);
    const view = { session, log, print, onChange, onEvent, onBatch, onError, start };
    this.#view = new SessionView(view);
    const onStatus = (status: DriverStatus) => this.#handleDriverStatus(status);
    this.#driverWatcher = new DriverWatcher({ log, session, clock, onStatus, onError });
  }

  get state(): ChatState {
    return this.#view.state;
  }

  /** True while a run is in progress, in this process or in a different one. */
  get isBusy(): boolean {
    return this.#run !== undefined || this.#hasOpenRun;
  }

  /**
   * The name of the other process that drives the session. Undefined if no other process drives it.
   */
  get holder(): string | undefined {
    return this.#run === undefined ? this.#holder : undefined;
  }

  /**
   * The folder in which the calls run. Undefined if it is the folder of this terminal. If a
   * different process sent a message, it is the folder of that message, because that process may be
   * the driver.
   */
  get otherFolder(): string | undefined {
    if (this.#run !== undefined) return undefined;
    return this.state.folders.findLast((folder) => folder !== this.#options.cwd);
  }

  /** False while earlier records of the session are read in the background. */
  get isWhole(): boolean {
    return this.#view.isWhole;
  }

  /** Resolves when all records of the session are read. Commands and messages need the sums and settings of all records. */
  get whole(): Promise<void> {
    return this.#isComplete;
  }

  /** The last offset at which no content was open. */
  get lastPause(): number {
    return this.#view.lastPause;
  }

  /** Approvals that wait for an answer, including approvals of sub-agents. */
  get approvals(): readonly PendingApproval[] {
    return this.#view.approvals;
  }

  /**
   * Reads the session and returns its last blocks. Print them before you call `resumeInterrupted`.
   */
  async open(): Promise<OpenedSession> {
    this.#refusal = await this.#options.findRefusal?.();
    if (this.#refusal !== undefined) await this.#findDriver();
    const opened = await this.#view.open();
    const complete = this.#view.whole.then(() => this.commandEnds.open(this.state));
    this.#isComplete = complete.catch((error: unknown) => this.#printError(error));
    return opened;
  }

  /** Resumes interrupted work, unless a different process drives the session. Prints why this process must not. */
  async resumeInterrupted(): Promise<void> {
    await this.#isComplete;
    const { holder, hasWork } = await driverStatus(this.#options.log, this.session);
    this.#holder = holder;
    if (holder !== undefined) {
      const text = `${holder} drives this session. You follow it here and can send messages, answer approvals and stop it.`;
      this.#options.print([note('mark', text)]);
      this.#driverWatcher.start();
    } else if (this.#refusal !== undefined) this.#printError(this.#refusal);
    else if (hasWork && this.#isInterrupted) this.#resume();
  }

  /**
   * Throws if no other process drives the session and this process must not. A command would otherwise wait in the log
   * for a program that may never run again.
   */
  async assertDriver(): Promise<void> {
    if (this.#refusal === undefined) return;
    await this.#findDriver();
    if (this.#holder === undefined) throw this.#refusal;
  }

  async #findDriver(): Promise<void> {
    this.#holder = (await driverStatus(this.#options.log, this.session)).holder;
  }

  /** Starts a run with a message, or steers the current run with it. */
  send(text: string, content: MessageContent = {}): Promise<void> {
    return this.#sendMessage(text, 'steer', content);
  }

  /** Queues a message. The agent answers it when the current run would end. */
  queue(text: string, content: MessageContent = {}): Promise<void> {
    return this.#sendMessage(text, 'follow_up', content);
  }

  /** True while a command runs for a message that is not sent yet. */
  get isPreparing(): boolean {
    return this.#messages.isRunning;
  }

  async stop(): Promise<void> {
    this.#messages.stop();
    if (!this.isBusy) return;
    await this.#withdrawAll().catch((error: unknown) => this.#printError(error));
    if (this.#run !== undefined) return this.#run.abort();
    if (this.#hasOpenRun) await this.#submit(this.session, { type: 'abort' });
  }

  /**
   * Resolves when the current run of this process is over. The log can contain the end of a run a moment
   * earlier.
   */
  async settled(): Promise<void> {
    await this.#run?.result;
  }

  /** True if a queued message can be withdrawn. */
  get hasQueued(): boolean {
    return this.#lastQueued !== undefined;
  }

  /** Withdraws the last queued message and puts it back into the prompt. */
  async withdrawLast(): Promise<void> {
    const last = this.#lastQueued;
    if (last !== undefined) await this.#withdraw(last);
  }

  async approve({ session, id }: PendingApproval, how: ApprovalOptions = {}): Promise<void> {
    await this.#submit(session, approveCommand(id, how, this.#answeredBy));
    this.#resumeParked();
  }

  async deny({ session, id }: PendingApproval, reason?: string): Promise<void> {
    await this.#submit(session, denyCommand(id, reason, this.#answeredBy));
    this.#resumeParked();
  }

  /** Retries a failed run without a new message. Returns false if no run failed. */
  retry(): boolean {
    if (!this.canRetry) return false;
    this.#resume();
    return true;
  }

  get canRetry(): boolean {
    const mayDrive = this.#refusal === undefined && this.holder === undefined;
    return mayDrive && !this.isBusy && this.state.hasFailed;
  }

  /** Revokes a rule that was granted for the session. */
  async revoke(rule: string): Promise<void> {
    await this.#submit(this.session, { type: 'revoke', rule });
  }

  /** Summarises older messages. */
  async compact(): Promise<void> {
    if (this.#run !== undefined) return this.#run.compact();
    await this.assertDriver();
    await this.#submit(this.session, { type: 'compact' });
    if (this.#hasOpenRun) this.#driverWatcher.start();
    else this.#resume();
  }

  /**
   * Stops driving the run without ending it, so that a different process can continue it. Resolves when the
   * lease is released. This conversation cannot drive a run after that.
   */
  async leave(): Promise<void> {
    const run = this.#run;
    this.#leaving.abort();
    await run?.result;
  }

  /**
   * Stops following the session. If this process drives a run, the run is aborted first, and this
   * method waits for its end.
   */
  async close(): Promise<void> {
    const run = this.#run;
    if (run !== undefined) {
      await run.abort('the chat was left').catch(() => {});
      await run.result;
    }
    await this.commandEnds.endAll();
    this.#isClosed = true;
    this.#driverWatcher.stop();
    await this.#view.close();
  }

  get #answeredBy(): string {
    return this.#options.answeredBy ?? defaultAnsweredBy;
  }

  /** True if a run has started and not ended, and a process may still drive it. */
  get #hasOpenRun(): boolean {
    const { run } = this.state;
    const mayEnd = this.#refusal === undefined || this.#holder !== undefined;
    return run !== undefined && run.id !== this.#failedRun && mayEnd;
  }

  get #lastQueued(): QueuedMessage | undefined {
    return this.state.queued.findLast(
      ({ key, ended }) => ended === undefined && !this.#withdrawals.has(key),
    );
  }

  /**
   * Withdraws all queued messages, starting with the last one. So the prompt shows the texts in
   * their original order.
   */
  async #withdrawAll(): Promise<void> {
    for (const message of this.state.queued.toReversed())
      if (message.ended === undefined && !this.#withdrawals.has(message.key))
        await this.#withdraw(message);
  }

  async #withdraw(message: QueuedMessage): Promise<void> {
    const commandKey = this.#options.newKey();
    this.#withdrawals.add(commandKey, message);
    const command = { type: 'withdraw', key: message.key };
    await this.#options.log.submit(this.session, command, commandKey).catch((error: unknown) => {
      this.#withdrawals.delete(commandKey);
      throw error;
    });
    if (this.isBusy) return;
    // No process drives the session now. The next driver reads the withdrawal before the message.
    this.#withdrawals.delete(commandKey);
    this.#options.putBack(message.text);
  }

  /**
   * True if a run has not ended, or if a call waits for an approval. Queued messages do not count.
   */
  get #isInterrupted(): boolean {
    return this.state.run !== undefined || this.state.approvals.length > 0;
  }

  /** Resumes a run that stopped while a call waited for approval. */
  #resumeParked(): void {
    if (!this.isBusy) this.#resume();
  }

  async #sendMessage(
    text: string,
    when: 'steer' | 'follow_up',
    content: MessageContent = {},
  ): Promise<void> {
    try {
      await this.#isComplete;
      await this.assertDriver();
      const item = await this.#messages.create(text, content);
      if (this.#run !== undefined) await this.#sendToRun(this.#run, item, when);
      else if (this.#hasOpenRun) await this.#submitMessage(item, when);
      else this.#startRun(item);
    } catch (error) {
      this.#options.putBack(text);
      throw error;
    }
  }

  async #sendToRun(run: Run, item: Item, when: 'steer' | 'follow_up'): Promise<void> {
    this.#lateMessages.add(item);
    const sent = when === 'steer' ? run.steer(item) : run.followUp(item);
    await sent.catch(async (error: unknown) => {
      this.#lateMessages.delete(item);
      if (!(error instanceof AgentError) || error.code !== 'run_over') throw error;
      await run.result;
      this.#startRun(item);
    });
  }

  /** Submits a message to the process that drives the session. */
  async #submitMessage(item: Item, when: 'steer' | 'follow_up'): Promise<void> {
    this.#lateMessages.add(item);
    const submitted = this.#submit(this.session, messageCommand(item, when));
    submitted.catch(() => this.#lateMessages.delete(item));
    this.#submittedMessages.add(await submitted);
    this.#driverWatcher.start();
  }

  #startRun(item: Item): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    const { agent } = this.#options.built();
    this.commandEnds.report().catch((error: unknown) => this.#printError(error));
    const { signal: leave } = this.#leaving;
    this.#drive(agent.run(item, { session: this.session, leave }), item);
  }

  #resume(): void {
    if (this.#refusal !== undefined) return this.#printError(this.#refusal);
    const { agent } = this.#options.built();
    this.commandEnds.report().catch((error: unknown) => this.#printError(error));
    this.#drive(agent.resume(this.session, { leave: this.#leaving.signal }), undefined);
  }

  #drive(run: Run, item: Item | undefined): void {
    this.#run = run;
    this.#failedRun = undefined;
    this.#unrecordedText = item && messageText(item);
    this.#holder = undefined;
    this.#options.onChange();
    if (!this.#view.isFollowing) this.#followFrom(run);
    run.result
      .then((result) => this.#finish(run, result, item))
      .catch((error: unknown) => this.#printError(error));
  }

  async #finish(run: Run, result: RunResult, item: Item | undefined): Promise<void> {
    const { stop, cause } = result;
    if (this.#run === run) this.#run = undefined;
    this.#options.onChange();
    if (!this.#isClosed) this.#options.onRunEnded(result);
    this.#answerLateMessages();
    if (stop.reason !== 'error' || stop.cause === 'left' || this.#isClosed) return;
    if (cause instanceof LogError && cause.code === 'held') {
      // A different process took the lease first.
      if (!this.#view.isFollowing) this.#view.follow();
      if (item !== undefined) await this.#submitMessage(item, 'follow_up');
      else this.#driverWatcher.start();
    } else if (cause instanceof LogError || cause instanceof AgentError)
      this.#reportFailedRun(run, cause);
  }

  /**
   * Reports a run that ended because the log could not be written. The recorded part stays in the
   * log, and the next message continues the session.
   */
  #reportFailedRun(run: Run, cause: Error): void {
    const text = this.#unrecordedText;
    this.#failedRun = this.state.run?.id ?? run.id;
    this.#unrecordedText = undefined;
    this.#printError(cause);
    const way = '■ stopped and kept. Solve the problem, then send a message to continue.';
    if (this.state.run !== undefined) this.#options.print([note('mark', way)]);
    if (text !== undefined) this.#options.putBack(text);
    this.#options.onChange();
  }

  /**
   * Starts to follow the session when the run has emitted its first event. A new session does not
   * exist before that.
   */
  #followFrom({ events }: Run): void {
    const first = events[Symbol.asyncIterator]();
    const follow = async () => {
      await first.next();
      await first.return?.();
      const isThere = (await this.#options.log.info(this.session)) !== undefined;
      if (!this.#view.isFollowing && isThere) this.#view.follow();
    };
    follow().catch((error: unknown) => this.#printError(error));
  }

  #handleEvent(event: AgentEvent): void {
    const { type } = event;
    this.commandEnds.handle(event);
    if (type === 'item_started' && event.kind === 'user') this.#unrecordedText = undefined;
    this.#lateMessages.handle(event, this.state);
    if (type === 'command_queued' || type === 'run_finished') this.#answerLateMessages();
    const withdrawn = this.#withdrawals.handle(event);
    if (withdrawn !== undefined) this.#options.putBack(withdrawn);
    if (type === 'tool_execution_finished') this.#options.onCallFinished();
    // After an abort, this process does not answer the messages that it submitted.
    if (type === 'aborted') this.#submittedMessages.clear();
    // The driver has finished the run. Its lease may continue for a moment.
    if (type === 'run_finished') this.#holder = undefined;
    // A different process has started a run. The watcher finds out the name of that process.
    if (type === 'run_started' && this.#run === undefined) this.#driverWatcher.start();
    this.#options.onEvent?.(event);
  }

  /** Answers the messages that this process sent too late for the last run. */
  #answerLateMessages(): void {
    if (!this.#hasLateMessages) return;
    const answer = async () => {
      const { holder, hasWork } = await driverStatus(this.#options.log, this.session);
      // The view can be older than the log. A run may have answered the message in the meantime.
      if (!hasWork || !this.#hasLateMessages) return;
      if (this.commandEnds.wakes(this.state)) this.commandEnds.countWake();
      const keys = this.#lateMessages.take();
      if (holder === undefined) return this.#resume();
      for (const key of keys) this.#submittedMessages.add(key);
      this.#driverWatcher.start();
    };
    answer().catch((error: unknown) => this.#printError(error));
  }

  /** True if a late message waits and no process drives the session. */
  get #hasLateMessages(): boolean {
    const isOver = this.#isClosed || this.#leaving.signal.aborted;
    const isWaiting = this.#lateMessages.isIn(this.state) || this.commandEnds.wakes(this.state);
    return !this.isBusy && !isOver && isWaiting;
  }

  async #submit(session: SessionId, command: JsonObject): Promise<string> {
    const key = this.#options.newKey();
    await this.#options.log.submit(session, command, key);
    return key;
  }

  /**
   * Resumes the session if the other process has ended and there is work to do. Returns true if the
   * watcher must check again.
   */
  #handleDriverStatus({ holder, hasWork }: DriverStatus): boolean {
    if (this.#run !== undefined) return false;
    this.#holder = holder;
    this.#options.onChange();
    if (holder !== undefined || !hasWork || this.#refusal !== undefined)
      return holder !== undefined;
    if (this.#options.takesOver?.() === false) return false;
    if (this.#hasOpenRun) {
      const text = '↻ the process that drove this session has ended: it continues here';
      this.#options.print([note('mark', text)]);
      this.#resume();
      // A message arrived too late for the other driver. So this process answers it.
    } else if (this.state.queued.some(({ key }) => this.#submittedMessages.has(key)))
      this.#resume();
    return false;
  }

  #printError(error: unknown): void {
    if (this.#isClosed) return;
    const text = error instanceof Error ? error.message : String(error);
    this.#options.print([note('bad', `✗ ${text}`)]);
  }
}
