import type { Plan, RequestStepResult, RunEnd } from '@millrace/agent/steps';
import type { JsonObject } from '@millrace/core';
import { CancellationScope, condition, uuid4, workflowInfo } from '@temporalio/workflow';
import type { MillraceActivities } from '../contract/activities.ts';
import type {
  AdvanceSessionOptions,
  AgentSessionOptions,
  ContinuationState,
  OnPlan,
  RequestPlan,
  RunSessionOptions,
  StateAnswer,
  ToolCallsPlan,
  TranscriptAnswer,
} from '../contract/agent-workflow.ts';
import {
  activitiesFor,
  assertPayloadSize,
  failureType,
  ignoreFenced,
  sessionDeleted,
} from './activities.ts';
import { Lock, Semaphore, stopOnCancel } from './concurrency.ts';
import {
  commandCount,
  nextCommandKey,
  raiseCommandCount,
  SettledItems,
  StepCounter,
  toItems,
} from './session-progress.ts';

/**
 * Maximum number of failures of one call that its tool did not cause, for example dead workers. After that,
 * the run is stopped.
 */
const maxCallFailures = 3;
const defaultTurns = 200;

/** A session that a workflow drives. Activities perform all work, and the conversation is on the log. */
export class AgentSession {
  readonly session: string;
  readonly #agent: string;
  readonly #activities: MillraceActivities;
  /**
   * Prevents `advance` and `processCommands` from running at the same time, because both write as the
   * session's driver.
   */
  readonly #driverLock = new Lock();
  /** Keeps commands in the order in which they were submitted. */
  readonly #submitLock = new Lock();
  readonly #settledItems = new SettledItems();
  readonly #stepCounter: StepCounter;
  readonly #failures = new Map<string, number>();
  /** True if the log may have commands that no step has read yet. */
  hasNewCommands = false;
  #work: CancellationScope | undefined;
  #pendingApprovals: ReadonlySet<string> = new Set();
  #doing: StateAnswer['doing'];
  #turn: number | undefined;
  #epoch: number;
  #items: number | undefined;
  #runId: string | undefined;
  #holdsLease: boolean;
  #isAborted = false;
  /**
   * The creation time of the session, after the first step. It shows whether the session was deleted and
   * created again.
   */
  #createdAt: number | undefined;
  /** After the session was deleted, all further work fails with this error. */
  #deletedError: Error | undefined;
  #turns = 0;
  readonly #maxTurns: number;

  constructor(options: AgentSessionOptions) {
    const { agent, session = workflowInfo().workflowId, carried } = options;
    this.session = session;
    this.#agent = agent;
    this.#activities = activitiesFor(options);
    this.#stepCounter = new StepCounter(carried?.step);
    this.#epoch = carried?.epoch ?? 0;
    this.#createdAt = carried?.createdAt;
    this.#maxTurns = options.turnsPerExecution ?? defaultTurns;
    raiseCommandCount(session, carried?.said ?? 0);
    this.#items = carried?.items;
    this.#runId = carried?.runId;
    this.#holdsLease = carried?.runId !== undefined;
    this.#doing = options.isStarting ? 'advance' : 'idle';
  }

  /**
   * The state that the next execution needs. It is valid between two steps. Its size does not grow with
   * the conversation.
   */
  get carried(): ContinuationState {
    const [step, epoch, items] = [this.#stepCounter.count, this.#epoch, this.#items];
    const [said, createdAt] = [commandCount(this.session), this.#createdAt];
    return { step, epoch, said, items, runId: this.#runId, createdAt };
  }

  /** True if the turn limit is reached or Temporal suggests to continue as new. */
  get isFull(): boolean {
    return this.#turns > this.#maxTurns || workflowInfo().continueAsNewSuggested;
  }

  get state(): StateAnswer {
    const { session } = this;
    const isWaiting = this.#doing === 'tool_calls' && this.#pendingApprovals.size > 0;
    return {
      ...{ session, agent: this.#agent, doing: isWaiting ? 'wait' : this.#doing },
      ...{ turn: this.#turn, asked: [...this.#pendingApprovals], isStopping: this.#isAborted },
    };
  }

  get transcript(): TranscriptAnswer {
    const { items } = this.#settledItems;
    return { session: this.session, first: (this.#items ?? 0) - items.length, items };
  }

  /** Writes a command to the log. The next step reads it. */
  async submit(command: JsonObject): Promise<void> {
    assertPayloadSize('a command', command);
    const { session } = this;
    const key = nextCommandKey(session);
    return this.#submitLock.run(async () => {
      const input = { agent: this.#agent, session, command, key, createdAt: this.#createdAt };
      await this.#detectDeletion(this.#activities.millraceSubmit(input));
      this.hasNewCommands = true;
    });
  }

  /**
   * Sends a message. With `steer`, the next request contains the message. With `follow_up`, the agent answers
   * it after its current work, before the run ends. Default: `follow_up`.
   */
  sendMessage(
    input: string | readonly JsonObject[],
    when: 'steer' | 'follow_up' = 'follow_up',
  ): Promise<void> {
    return this.submit({ type: 'message', when, items: toItems(input) });
  }

  /** Sends a command that must not wait, such as an abort or an approval decision. */
  async sendCommand(command: JsonObject): Promise<void> {
    await this.submit(command);
    await this.processCommands();
  }

  /** Stops the current run and keeps its partial answer. */
  async interrupt(reason?: string): Promise<void> {
    // An interrupt also applies to a run that is about to start. This line waits until that run has the
    // lease.
    await condition(() => this.#holdsLease || this.#doing === 'idle');
    await this.sendCommand({ type: 'abort', ...(reason !== undefined && { reason }) });
  }

  /**
   * Makes the session read new commands. It processes urgent commands immediately, and other commands in the
   * next step.
   */
  wake(): Promise<void> {
    this.hasNewCommands = true;
    return this.processCommands();
  }

  /** Processes the urgent commands on the log, from any process. */
  processCommands(): Promise<void> {
    return this.#driverLock.run(async () => {
      if (!this.#holdsLease) return;
      const held = { ...this.#leaseInput, createdAt: this.#createdAt };
      const commands = await this.#detectDeletion(this.#activities.millraceHear(held)).catch(
        ignoreFenced,
      );
      // The workflow has lost its lease and must advance first. The next step then processes the commands.
      if (commands === undefined) return;
      this.#pendingApprovals = new Set(commands.asked);
      if (!commands.isAborted) return;
      this.#isAborted = true;
      this.#work?.cancel();
    });
  }

  /**
   * Drives one run to its end. Returns undefined if `ifAsked` is set and no message waits. If the
   * caller's scope is cancelled, the run is aborted and its partial answer is kept.
   */
  run({
    onPlan = async () => {},
    ifAsked = false,
  }: RunSessionOptions = {}): Promise<RunEnd | undefined> {
    return stopOnCancel(() => this.#drive(onPlan, ifAsked), {
      stop: () => this.interrupt('The workflow was cancelled'),
      isStopped: (end) => end?.stop.reason === 'aborted',
    });
  }

  async #drive(onPlan: OnPlan, ifAsked: boolean): Promise<RunEnd | undefined> {
    this.#isAborted = false;
    this.#doing = 'advance';
    for (;;) {
      const plan = await this.advance({ ifAsked });
      if (plan.do === 'done') return plan;
      if (plan.do === 'idle') return undefined;
      await onPlan(plan);
      if (plan.do === 'request') await this.request(plan);
      else await this.toolCalls(plan);
    }
  }

  /** Returns the next plan. Starts and ends turns and runs as needed. */
  advance({ keepsCut = false, ifAsked = false }: AdvanceSessionOptions = {}): Promise<Plan> {
    this.#doing = 'advance';
    this.#runId ??= uuid4();
    const runId = this.#runId;
    return this.#driverLock.run(async () => {
      if (this.#deletedError !== undefined) throw this.#deletedError;
      this.hasNewCommands = false;
      const of = { agent: this.#agent, session: this.session, createdAt: this.#createdAt };
      const given = { ...of, runId, keepsCut, ifAsked, items: this.#items };
      const advanced = await this.#stepCounter.next((owner) =>
        this.#detectDeletion(this.#activities.millraceAdvance({ ...given, ...owner })),
      );
      const { plan, epoch, settled, items, through, createdAt } = advanced;
      this.#epoch = epoch;
      this.#createdAt = createdAt;
      this.#items = items;
      this.#settledItems.add(settled, this.session, through);
      const isOver = plan.do === 'done' || plan.do === 'idle';
      this.#holdsLease = !isOver;
      if (isOver) this.#runId = undefined;
      if (isOver) this.#doing = 'idle';
      else this.#turn = plan.turn;
      if (plan.do === 'request') this.#turns += 1;
      return plan;
    });
  }

  /**
   * Streams one model request to the log. Returns undefined if the workflow must call `advance` again for
   * this request.
   */
  async request({ turn }: Pick<RequestPlan, 'turn'>): Promise<RequestStepResult | undefined> {
    this.#doing = 'request';
    const asked = { ...this.#leaseInput, turn };
    try {
      return await this.#cancellable(() =>
        this.#detectDeletion(this.#activities.millraceRequest(asked)),
      );
    } catch (error) {
      if (failureType(error) !== 'millrace.fenced') await this.#giveUp(error);
      return undefined;
    }
  }

  /**
   * Runs the calls of a turn in parallel, each call in its own activity. A call that needs an approval waits
   * for the approval.
   */
  async toolCalls(plan: ToolCallsPlan): Promise<void> {
    this.#doing = 'tool_calls';
    this.#pendingApprovals = new Set(
      plan.toolCalls.flatMap(({ needsApproval, toolCallId }) => (needsApproval ? toolCallId : [])),
    );
    const gate = new Semaphore(plan.maxParallel);
    await this.#cancellable(async () => {
      await Promise.all(plan.toolCalls.map((call) => this.#runCall(plan, call.toolCallId, gate)));
    });
    this.#pendingApprovals = new Set();
  }

  async #runCall(
    { turn, attempt }: ToolCallsPlan,
    toolCallId: ToolCallsPlan['toolCalls'][number]['toolCallId'],
    gate: Semaphore,
  ): Promise<void> {
    const call = { ...this.#leaseInput, turn, attempt, toolCallId };
    const isDecided = () => !this.#pendingApprovals.has(toolCallId) || this.#isAborted;
    for (;;) {
      await CancellationScope.nonCancellable(() => condition(isDecided));
      if (this.#isAborted) return;
      try {
        const { outcome } = await gate.run(() =>
          this.#detectDeletion(this.#activities.millraceCall(call)),
        );
        if (outcome !== 'asked') return;
        // The decision about the approval may have arrived while the call ran.
        await CancellationScope.nonCancellable(() => this.processCommands());
      } catch (error) {
        return this.#callFailed(toolCallId, error);
      }
    }
  }

  /**
   * Counts the failure of a call. The next plan contains the call again. The log records the failed execution
   * as lost, and the tool runs again only if it has `afterCrash: 'repeat'`.
   */
  async #callFailed(toolCallId: string, error: unknown): Promise<void> {
    if (this.#isAborted || failureType(error) === 'millrace.fenced') return;
    const failures = (this.#failures.get(toolCallId) ?? 0) + 1;
    this.#failures.set(toolCallId, failures);
    if (failures >= maxCallFailures) await this.#giveUp(error);
  }

  /** Ends the run with its partial result, because no worker could do the work. */
  async #giveUp(error: unknown): Promise<void> {
    if (this.#isAborted) return;
    const why = failureType(error) ?? 'it failed';
    await CancellationScope.nonCancellable(() => this.interrupt(`An activity failed: ${why}`));
  }

  get #leaseInput(): { readonly agent: string; readonly session: string; readonly epoch: number } {
    return { agent: this.#agent, session: this.session, epoch: this.#epoch };
  }

  /**
   * Waits for `work`. If `work` fails because the session was deleted, all other work stops, and the next
   * step throws.
   */
  async #detectDeletion<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      if (failureType(error) !== 'millrace.no_session') throw error;
      this.#deletedError ??= sessionDeleted(this.session);
      this.#isAborted = true;
      this.#holdsLease = false;
      this.hasNewCommands = true;
      this.#work?.cancel();
      throw this.#deletedError;
    });
  }

  /** Runs `work` in a cancellation scope. An abort cancels this scope as soon as the abort is on the log. */
  async #cancellable<T>(work: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope();
    this.#work = scope;
    try {
      return await scope.run(work);
    } finally {
      this.#work = undefined;
    }
  }
}
