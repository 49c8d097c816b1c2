import type { Plan, Requested, RunEnd } from '@millrace/agent/steps';
import type { JsonObject } from '@millrace/core';
import { CancellationScope, condition, uuid4, workflowInfo } from '@temporalio/workflow';
import type { MillraceActivities } from '../contract/activities.ts';
import type {
  AdvanceSessionOptions,
  AgentSessionOptions,
  CallsPlan,
  Carried,
  OnPlan,
  RequestPlan,
  RunSessionOptions,
  StateAnswer,
  TranscriptAnswer,
} from '../contract/agent-workflow.ts';
import { activitiesFor, gone, smallEnough, typeOf, unlessFenced } from './activities.ts';
import { Gate, Lock, stoppedByCancel } from './concurrency.ts';
import { countFrom, countOf, itemsOf, KnownItems, nextKey, OwnSteps } from './session-progress.ts';

/** After so many failures of the same call, which its tool did not see, the run is stopped. */
const maxCallFailures = 3;
const defaultTurns = 200;

/** A session that a workflow drives: everything it does are activities, and what is said is on the log. */
export class AgentSession {
  readonly session: string;
  readonly #agent: string;
  readonly #activities: MillraceActivities;
  /** Driving and hearing are one's at a time: both write as the session's driver. */
  readonly #driving = new Lock();
  /** What is said is on the log in the order in which it was said. */
  readonly #saying = new Lock();
  readonly #known = new KnownItems();
  readonly #steps: OwnSteps;
  readonly #failures = new Map<string, number>();
  /** Something was left on the log that no step may have seen. */
  hasNews = false;
  #work: CancellationScope | undefined;
  #asked: ReadonlySet<string> = new Set();
  #doing: StateAnswer['doing'];
  #turn: number | undefined;
  #epoch: number;
  #items: number | undefined;
  #runId: string | undefined;
  #isHeld: boolean;
  #isAborted = false;
  /** When it was made, once that is known: another of its name is not meant. */
  #createdAt: number | undefined;
  /** It was deleted: nothing of it goes on. */
  #gone: Error | undefined;
  #turns = 0;
  readonly #maxTurns: number;

  constructor(options: AgentSessionOptions) {
    const { agent, session = workflowInfo().workflowId, carried } = options;
    this.session = session;
    this.#agent = agent;
    this.#activities = activitiesFor(options);
    this.#steps = new OwnSteps(carried?.step);
    this.#epoch = carried?.epoch ?? 0;
    this.#createdAt = carried?.createdAt;
    this.#maxTurns = options.turnsPerExecution ?? defaultTurns;
    countFrom(session, carried?.said ?? 0);
    this.#items = carried?.items;
    this.#runId = carried?.runId;
    this.#isHeld = carried?.runId !== undefined;
    this.#doing = options.isStarting ? 'advance' : 'idle';
  }

  /** What another execution needs to go on, between two steps: ids and counts, however long the talk. */
  get carried(): Carried {
    const [step, epoch, items] = [this.#steps.count, this.#epoch, this.#items];
    const [said, createdAt] = [countOf(this.session), this.#createdAt];
    return { step, epoch, said, items, runId: this.#runId, createdAt };
  }

  /** This execution had its turns, or Temporal suggests another one: time to continue as new. */
  get isFull(): boolean {
    return this.#turns > this.#maxTurns || workflowInfo().continueAsNewSuggested;
  }

  get state(): StateAnswer {
    const { session } = this;
    const isWaiting = this.#doing === 'calls' && this.#asked.size > 0;
    return {
      ...{ session, agent: this.#agent, doing: isWaiting ? 'wait' : this.#doing },
      ...{ turn: this.#turn, asked: [...this.#asked], isStopping: this.#isAborted },
    };
  }

  get transcript(): TranscriptAnswer {
    const { items } = this.#known;
    return { session: this.session, first: (this.#items ?? 0) - items.length, items };
  }

  /** Leaves a command on the log: it is heard by the next step that looks. */
  async submit(command: JsonObject): Promise<void> {
    smallEnough('what is said', command);
    const { session } = this;
    const key = nextKey(session);
    return this.#saying.through(async () => {
      const said = { agent: this.#agent, session, command, key, createdAt: this.#createdAt };
      await this.#there(this.#activities.millraceSubmit(said));
      this.hasNews = true;
    });
  }

  /** A message: joins the next request (`steer`), or is answered when the run would end. */
  say(
    input: string | readonly JsonObject[],
    when: 'steer' | 'follow_up' = 'follow_up',
  ): Promise<void> {
    return this.submit({ type: 'message', when, items: itemsOf(input) });
  }

  /** A command that does not wait: an abort, or a decision on a call. */
  async tell(command: JsonObject): Promise<void> {
    await this.submit(command);
    await this.hear();
  }

  /** Stops what goes on, and keeps what was said. */
  async interrupt(reason?: string): Promise<void> {
    // A run that is about to begin is meant as well.
    await condition(() => this.#isHeld || this.#doing === 'idle');
    await this.tell({ type: 'abort', ...(reason !== undefined && { reason }) });
  }

  /** Something was left on the log: what cannot wait is heard now, the rest by the next step. */
  wake(): Promise<void> {
    this.hasNews = true;
    return this.hear();
  }

  /** Looks for commands on the log, whoever left them. */
  hear(): Promise<void> {
    return this.#driving.through(async () => {
      if (!this.#isHeld) return;
      const held = { ...this.#held, createdAt: this.#createdAt };
      const heard = await this.#there(this.#activities.millraceHear(held)).catch(unlessFenced);
      // Who is fenced has to advance first, and hears then.
      if (heard === undefined) return;
      this.#asked = new Set(heard.asked);
      if (!heard.isAborted) return;
      this.#isAborted = true;
      this.#work?.cancel();
    });
  }

  /**
   * Drives one run to its end; none, and undefined, where it was only to be begun if something waits to
   * be answered. Whatever cancels the caller's scope aborts it: what was said is kept.
   */
  run({
    onPlan = async () => {},
    ifAsked = false,
  }: RunSessionOptions = {}): Promise<RunEnd | undefined> {
    return stoppedByCancel(() => this.#drive(onPlan, ifAsked), {
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
      else await this.calls(plan);
    }
  }

  /** What comes next. Turns and runs are begun and ended on the way there. */
  advance({ keepsCut = false, ifAsked = false }: AdvanceSessionOptions = {}): Promise<Plan> {
    this.#doing = 'advance';
    this.#runId ??= uuid4();
    const runId = this.#runId;
    return this.#driving.through(async () => {
      if (this.#gone !== undefined) throw this.#gone;
      this.hasNews = false;
      const of = { agent: this.#agent, session: this.session, createdAt: this.#createdAt };
      const given = { ...of, runId, keepsCut, ifAsked, items: this.#items };
      const advanced = await this.#steps.next((owner) =>
        this.#there(this.#activities.millraceAdvance({ ...given, ...owner })),
      );
      const { plan, epoch, settled, items, through, createdAt } = advanced;
      this.#epoch = epoch;
      this.#createdAt = createdAt;
      this.#items = items;
      this.#known.add(settled, this.session, through);
      const isOver = plan.do === 'done' || plan.do === 'idle';
      this.#isHeld = !isOver;
      if (isOver) this.#runId = undefined;
      if (isOver) this.#doing = 'idle';
      else this.#turn = plan.turn;
      if (plan.do === 'request') this.#turns += 1;
      return plan;
    });
  }

  /** One model request, streamed to the log. Undefined where it is to be planned again. */
  async request({ turn }: Pick<RequestPlan, 'turn'>): Promise<Requested | undefined> {
    this.#doing = 'request';
    const asked = { ...this.#held, turn };
    try {
      return await this.#working(() => this.#there(this.#activities.millraceRequest(asked)));
    } catch (error) {
      if (typeOf(error) !== 'millrace.fenced') await this.#giveUp(error);
      return undefined;
    }
  }

  /** The calls of a turn side by side, each an activity; those that ask wait for somebody. */
  async calls(plan: CallsPlan): Promise<void> {
    this.#doing = 'calls';
    this.#asked = new Set(
      plan.calls.flatMap(({ isAsked, toolCallId }) => (isAsked ? toolCallId : [])),
    );
    const gate = new Gate(plan.maxParallel);
    await this.#working(async () => {
      await Promise.all(plan.calls.map((call) => this.#answer(plan, call.toolCallId, gate)));
    });
    this.#asked = new Set();
  }

  async #answer(
    { turn, attempt }: CallsPlan,
    toolCallId: CallsPlan['calls'][number]['toolCallId'],
    gate: Gate,
  ): Promise<void> {
    const call = { ...this.#held, turn, attempt, toolCallId };
    const isDecided = () => !this.#asked.has(toolCallId) || this.#isAborted;
    for (;;) {
      await CancellationScope.nonCancellable(() => condition(isDecided));
      if (this.#isAborted) return;
      try {
        const { outcome } = await gate.through(() =>
          this.#there(this.#activities.millraceCall(call)),
        );
        if (outcome !== 'asked') return;
        // Somebody may have decided while it was asked.
        await CancellationScope.nonCancellable(() => this.hear());
      } catch (error) {
        return this.#callFailed(toolCallId, error);
      }
    }
  }

  /** It is planned again: then it is told as lost, and only what is safe to run again does. */
  async #callFailed(toolCallId: string, error: unknown): Promise<void> {
    if (this.#isAborted || typeOf(error) === 'millrace.fenced') return;
    const failures = (this.#failures.get(toolCallId) ?? 0) + 1;
    this.#failures.set(toolCallId, failures);
    if (failures >= maxCallFailures) await this.#giveUp(error);
  }

  /** No worker could do it: the run ends, with what there is. */
  async #giveUp(error: unknown): Promise<void> {
    if (this.#isAborted) return;
    const why = typeOf(error) ?? 'it failed';
    await CancellationScope.nonCancellable(() => this.interrupt(`An activity failed: ${why}`));
  }

  get #held(): { readonly agent: string; readonly session: string; readonly epoch: number } {
    return { agent: this.#agent, session: this.session, epoch: this.#epoch };
  }

  /** Where the session was deleted, all that goes on stops, and the next step says why. */
  async #there<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      if (typeOf(error) !== 'millrace.no_session') throw error;
      this.#gone ??= gone(this.session);
      this.#isAborted = true;
      this.#isHeld = false;
      this.hasNews = true;
      this.#work?.cancel();
      throw this.#gone;
    });
  }

  /** Cancelled by an abort, as soon as that is on the log. */
  async #working<T>(work: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope();
    this.#work = scope;
    try {
      return await scope.run(work);
    } finally {
      this.#work = undefined;
    }
  }
}
