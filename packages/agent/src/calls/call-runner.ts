import type {
  Attempt,
  DraftRecord,
  ItemId,
  RejectionCode,
  ToolCallId,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';
import { abort } from '../abortable.ts';
import type { RunContext } from '../contract/run-context.ts';
import { outputFor } from '../state/turn-calls.ts';
import { type DecidedCall, isRefusal } from './approvals.ts';
import { CallDecisions } from './call-decisions.ts';
import type { ChildCall } from './child-call.ts';
import type { ClientCalls } from './client-call.ts';
import { executeOnce } from './execution.ts';
import type { HandOffs } from './hand-offs.ts';
import { prepareCall } from './prepare-call.ts';
import { ResultSlots } from './result-slots.ts';
import { errorResult } from './tool-result.ts';

interface CallRunnerOptions extends Attempt {
  /** The item that holds the results, if the turn already has one. */
  readonly toolItemId: ItemId | undefined;
}

/**
 * The outcome of a call. `answered`: it has a result. `parked`: it waits for the user. `left`: it has no
 * result, because the run stops.
 */
type CallOutcome = 'answered' | 'parked' | 'left';

/**
 * Runs the tool calls of one attempt and writes their results. Each call gets exactly one result,
 * whatever happens.
 */
export class CallRunner {
  readonly #context: RunContext;
  readonly #at: Attempt;
  readonly #limiter: ConcurrencyLimiter;
  /** Stops the running tools when the run or the attempt stops. */
  readonly #stop = new AbortController();
  readonly #onAbort = () => abort(this.#stop);
  readonly #decisions: CallDecisions;
  readonly #slots: ResultSlots;
  /** Undefined until a call hands off, because the code loads on demand. */
  #handOffs: HandOffs | undefined;
  /** Undefined until a call needs a tool that a client runs, because the code loads on demand. */
  #clientCalls: ClientCalls | undefined;
  readonly #running = new Map<ToolCallId, Promise<void>>();
  /** The last execution of each call that runs a sub-agent. */
  readonly #children = new Map<ToolCallId, ChildCall>();
  /** The calls whose sub-agent is parked. */
  readonly #parked = new Set<ToolCallId>();
  /** True once the response has ended with these calls. From then on, the results of the calls count. */
  #isAdopted = false;

  constructor(context: RunContext, { turn, attempt, toolItemId }: CallRunnerOptions) {
    const { settings, journal, signal } = context;
    this.#context = context;
    this.#at = { turn, attempt };
    this.#limiter = new ConcurrencyLimiter(settings.limits.maxParallelTools);
    this.#decisions = new CallDecisions(context, this.#at, this.#stop.signal);
    this.#slots = new ResultSlots(this.#at, settings.ids, toolItemId, journal.state);
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort);
  }

  /**
   * Starts the call while the response still streams, if its tool has no effects and the policy allows
   * it. Does nothing if guardrails have to check the response.
   */
  async startEarly(call: ToolCallPart, before: readonly ToolCallPart[]): Promise<void> {
    const { tools } = this.#decisions;
    const isGuarded = this.#context.settings.guardrails.some(({ on }) => on !== 'input');
    const tool = tools.get(call.name);
    if (isGuarded || tool?.effects !== 'none' || tool.client !== undefined) return;
    const ready = await prepareCall(call, tools);
    if (!ready.ok || this.#isLate(call)) return;
    const { decision, judged } = await this.#decisions.policyDecision(ready);
    if (decision !== 'allow' || this.#isLate(call)) return;
    // An error here means that the log cannot be written. The run then stops and reports it.
    this.#start({ ...ready, judged }, before).catch(() => {});
  }

  #isLate({ toolCallId }: ToolCallPart): boolean {
    return this.#isOver || this.#isAdopted || this.#running.has(toolCallId);
  }

  /**
   * True if the log has the end of the response, so that the results of tools that started early count.
   */
  get #hasResponseEnded(): boolean {
    const { turn } = this.#context.journal.loop;
    return turn?.attempt === this.#at.attempt && turn.stop?.reason === 'tool_use';
  }

  get #isOver(): boolean {
    return this.#stop.signal.aborted || this.#context.phase.isAborting;
  }

  /**
   * Called after a command arrived, because the command may hold the output of a call that a client runs.
   */
  wakeClientCalls(): void {
    this.#clientCalls?.wake();
  }

  async #loadClientCalls(): Promise<ClientCalls> {
    const { ClientCalls } = await import('./client-call.ts');
    this.#clientCalls ??= new ClientCalls({
      ...{ context: this.#context, at: this.#at, stop: this.#stop.signal },
      fill: (call, part) => this.#slots.fill(this.#decisions.withChange(call, part)),
    });
    return this.#clientCalls;
  }

  async #loadHandOffs(): Promise<HandOffs> {
    const { HandOffs } = await import('./hand-offs.ts');
    this.#handOffs ??= new HandOffs(this.#context, this.#at);
    return this.#handOffs;
  }

  /**
   * Resumes the call that waits for the answer with this id. The call can also be that of a sub-agent.
   */
  wake(id: ToolCallId): void {
    this.#decisions.wake(id);
    for (const childCall of this.#children.values()) childCall.deliver(id);
  }

  /**
   * Gives each call its result. Resolves with `parked` if the other calls wait for the user or a client.
   */
  async answer(calls: readonly ToolCallPart[]): Promise<'answered' | 'parked'> {
    this.#isAdopted = true;
    await this.#write(this.#slots.reserve(calls));
    // Calls with the same id share one result.
    const ids = calls.map(({ toolCallId }) => toolCallId);
    const distinct = calls.filter(({ toolCallId }, at) => ids.indexOf(toolCallId) === at);
    const outcomes = await Promise.all(distinct.map((call) => this.#answer(call)));
    const parked = distinct.filter((_call, at) => outcomes[at] === 'parked');
    // The user may have answered while other calls ran. Such a call can continue, so the run does not
    // park.
    const isWaiting = parked.every((call) => this.#isWaiting(call));
    return parked.length > 0 && isWaiting && !outcomes.includes('left') ? 'parked' : 'answered';
  }

  #isWaiting(call: ToolCallPart): boolean {
    const { toolCallId } = call;
    const { loop } = this.#context.journal;
    if (loop.turn?.calls.get(toolCallId)?.isAwaited)
      return outputFor(loop, toolCallId) === undefined;
    if (!this.#parked.has(toolCallId)) return this.#decisions.answerTo(call) === undefined;
    return this.#children.get(toolCallId)?.newAnswers.length === 0;
  }

  /**
   * Answers each call with an error result, without running its tool. The code `aborted` also stops
   * running tools and ends sub-agents that wait.
   */
  async reject(calls: readonly ToolCallPart[], code: 'aborted' | 'cut' | 'blocked'): Promise<void> {
    const message = rejectionTexts[code];
    if (code === 'aborted') {
      await this.halt();
      await Promise.all(calls.map((call) => this.#stopChild(call)));
    }
    await this.#write(this.#slots.reserve(calls));
    for (const call of calls)
      if (this.#slots.isOpen(call.toolCallId))
        await this.#reject(call, code === 'blocked' ? 'denied' : code, message);
  }

  /** Ends the sub-agent of a call. The code loads on demand, because few agents have sub-agents. */
  async #stopChild(call: ToolCallPart): Promise<void> {
    if (this.#decisions.callState(call)?.execution?.child === undefined) return;
    const { stopChild } = await import('./stop-child.ts');
    await stopChild(call, this.#decisions.changedInput(call), this.#context, this.#at);
  }

  /** Stops the running tools and waits for them. */
  async halt(): Promise<void> {
    abort(this.#stop);
    this.#context.signal.removeEventListener('abort', this.#onAbort);
    await this.settled();
  }

  /** Resolves when all running tools have their results. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  /**
   * Retracts the results of tools that started early. Called if the response ended without valid calls.
   */
  async discard(): Promise<void> {
    await this.halt();
    await this.#write(this.#slots.retract(this.#context.journal.state));
  }

  /** Ignores all later results. Called when the attempt is superseded. */
  abandon(): void {
    this.#slots.close();
  }

  /** Waits for all results and finishes the tool item. */
  async finish(): Promise<void> {
    await Promise.all(this.#running.values());
    this.#context.signal.removeEventListener('abort', this.#onAbort);
    await this.#write(this.#slots.finish(this.#context.journal.state));
  }

  async #answer(call: ToolCallPart): Promise<CallOutcome> {
    await this.#running.get(call.toolCallId);
    if (!this.#slots.isOpen(call.toolCallId)) return 'answered';
    const decided = await this.#decisions.decide(call);
    if (decided === 'lost') return this.#reportUnknownOutcome(call);
    if (typeof decided === 'string') return decided;
    if (isRefusal(decided)) return this.#reject(call, decided.refused, decided.message);
    if (decided.tool.client !== undefined) {
      const clientCalls = await this.#loadClientCalls();
      return clientCalls.answer(decided, this.#decisions.changedInput(call));
    }
    await this.#start(decided, []);
    if (!this.#slots.isOpen(call.toolCallId)) return 'answered';
    return this.#parked.has(call.toolCallId) ? 'parked' : 'left';
  }

  /**
   * Writes an error result for a call whose tool ran in a process that died. The tool may have completed.
   */
  async #reportUnknownOutcome(call: ToolCallPart): Promise<'answered'> {
    const text =
      'It was interrupted, and nobody knows whether it was done. Look before you do it again.';
    await this.#write(this.#slots.fill(errorResult(call, text)));
    return 'answered';
  }

  #start(ready: DecidedCall, before: readonly ToolCallPart[]): Promise<void> {
    const running = this.#limiter.run(() => this.#execute(ready, before));
    this.#running.set(ready.call.toolCallId, running);
    return running;
  }

  /** Runs the call when the limiter has a free place. An abort or an answer may have arrived before. */
  async #execute(waiting: DecidedCall, before: readonly ToolCallPart[]): Promise<void> {
    const { call, tool } = waiting;
    const stop = this.#stop.signal;
    if (this.#isOver) return;
    const hasAnswer = this.#decisions.answerTo(call) !== undefined;
    const ready = hasAnswer ? await this.#decisions.applyAnswer(waiting) : waiting;
    if (typeof ready === 'string') return;
    if (isRefusal(ready)) return void (await this.#reject(call, ready.refused, ready.message));
    const handOffs = tool.handsOff && (await this.#loadHandOffs());
    const options = {
      ...{ context: this.#context, at: this.#at, slots: this.#slots, stop },
      isOver: () => this.#isOver,
      isAdopted: () => this.#isAdopted || this.#hasResponseEnded,
      checkResult: (part: ToolResultPart) =>
        this.#decisions.withChange(call, handOffs?.checkResult(ready, part) ?? part),
      handOffDrafts: (part: ToolResultPart) => handOffs?.draftsFor(ready, part) ?? [],
      onChild: (one: ChildCall | undefined) => one && this.#children.set(call.toolCallId, one),
    };
    this.#parked.delete(call.toolCallId);
    let answered = '';
    // After an abort no execution starts, even if the abort is not on the log yet.
    for (let tried = 0; !this.#isOver; ) {
      const slots = this.#slots.reserve([...before, call]);
      const outcome = await executeOnce(ready, slots, tried < tool.retries, options);
      if (outcome.type === 'done') return;
      if (outcome.type === 'retry') tried++;
      else {
        // The user may have answered while the sub-agent parked, and then the tool runs again.
        const answers = outcome.childCall.newAnswers.join('\n');
        if (answers === answered) return void this.#parked.add(call.toolCallId);
        answered = answers;
      }
    }
  }

  async #reject(call: ToolCallPart, code: RejectionCode, message: string): Promise<'answered'> {
    const { toolCallId, name } = call;
    const fact = { type: 'tool_call_rejected', toolCallId, name, code, message } as const;
    const result = this.#decisions.withChange(call, errorResult(call, message));
    await this.#write([{ ...this.#at, fact }, ...this.#slots.fill(result)]);
    return 'answered';
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return drafts.length === 0 ? Promise.resolve() : this.#context.journal.write(drafts);
  }
}

const rejectionTexts = {
  aborted: 'It was stopped before it was done.',
  cut: 'It was not run: the answer was cut off. Make the call again if it is still wanted.',
  blocked: 'It was not run: a guardrail stopped the run.',
};

/** Runs at most `width` tasks at once, in the order in which they arrive. */
class ConcurrencyLimiter {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
