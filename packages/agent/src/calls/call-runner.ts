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
  /** The item that contains the tool results, if the turn already has one. */
  readonly toolItemId: ItemId | undefined;
}

/**
 * The outcome of a tool call. `answered` means that it has a result. `parked` means that it waits for the
 * user. `left` means that it has no result, because the run stops.
 */
type CallOutcome = 'answered' | 'parked' | 'left';

/**
 * Runs the tool calls of one attempt and writes their results. Each call gets exactly one result, even after
 * errors and aborts.
 */
export class CallRunner {
  readonly #context: RunContext;
  readonly #at: Attempt;
  readonly #limiter: ConcurrencyLimiter;
  /** Aborts the running tools when the run or the attempt stops. */
  readonly #stop = new AbortController();
  readonly #onAbort = () => abort(this.#stop);
  readonly #decisions: CallDecisions;
  /** The forms of running tools that wait for an answer, with the functions that end the wait. */
  readonly #formAnswers = new Map<ToolCallId, () => void>();
  readonly #slots: ResultSlots;
  /**
   * Handles hand-offs to other agents. Undefined until a call hands off, because the code loads on demand.
   */
  #handOffs: HandOffs | undefined;
  /**
   * Handles calls that a client runs. Undefined until there is such a call, because the code loads on demand.
   */
  #clientCalls: ClientCalls | undefined;
  readonly #running = new Map<ToolCallId, Promise<unknown>>();
  /** The latest execution of each call that runs a sub-agent. */
  readonly #children = new Map<ToolCallId, ChildCall>();
  /** The calls whose sub-agent is parked, which means that it waits for an answer and does not run. */
  readonly #parked = new Set<ToolCallId>();
  /** True after the response has ended and contains these calls. From then on, their results are valid. */
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
   * Starts the call while the response still streams, if its tool has no effects and the policy allows the
   * call. Does nothing if guardrails must check the response first.
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
    // If `#start` rejects, the log cannot be written. The next write of the run then reports the same error.
    this.#start({ ...ready, judged }, before).catch(() => {});
  }

  #isLate({ toolCallId }: ToolCallPart): boolean {
    return this.#isOver || this.#isAdopted || this.#running.has(toolCallId);
  }

  /**
   * True if the end of the response is on the log. From then on, the results of tools that started early are
   * valid.
   */
  get #hasResponseEnded(): boolean {
    const { turn } = this.#context.journal.loop;
    return turn?.attempt === this.#at.attempt && turn.stop?.reason === 'tool_use';
  }

  get #isOver(): boolean {
    return this.#stop.signal.aborted || this.#context.phase.isAborting;
  }

  /**
   * Must be called after a command arrives, because the command may contain the output of a call that a
   * client runs.
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

  /** Resumes the call that waits for the answer with this id. The call may belong to a sub-agent. */
  wake(id: ToolCallId): void {
    this.#decisions.wake(id);
    this.#formAnswers.get(id)?.();
    for (const childCall of this.#children.values()) childCall.deliver(id);
  }

  /**
   * Gives each call its result. Resolves with `parked` if the calls without a result wait for the user or a
   * client.
   */
  async answer(calls: readonly ToolCallPart[]): Promise<'answered' | 'parked'> {
    this.#isAdopted = true;
    await this.#write(this.#slots.reserve(calls));
    // Several calls with the same id get only one result.
    const ids = new Set<ToolCallId>();
    const distinct = calls.filter(({ toolCallId }) => ids.size < ids.add(toolCallId).size);
    const outcomes = await Promise.all(distinct.map((call) => this.#answer(call)));
    const parked = distinct.filter((_call, at) => outcomes[at] === 'parked');
    // The user may answer while other calls run. If there is such an answer, its call can continue and the
    // run does not park.
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
   * Writes an error result for each call, without running its tool. With the code `aborted`, it also stops
   * running tools and ends the sub-agents that wait for an answer.
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

  /** Stops the running tools and waits until they have ended. */
  async halt(): Promise<void> {
    abort(this.#stop);
    this.#context.signal.removeEventListener('abort', this.#onAbort);
    await this.settled();
  }

  /** Resolves when all running tools have their results on the log. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  /**
   * Retracts the results of tools that started early. The caller uses it if the response ended without valid
   * calls.
   */
  async discard(): Promise<void> {
    await this.halt();
    await this.#write(this.#slots.retract(this.#context.journal.state));
  }

  /**
   * After this call, later results of tools are ignored. The caller uses it when a new attempt replaces this
   * attempt.
   */
  abandon(): void {
    this.#slots.close();
  }

  /** Waits for all results, and then finishes the item that contains them. */
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
    // The call waited for a free slot, and then the policy required an answer. The slot is free again.
    if ((await this.#start(decided, [])) === 'undecided') return this.#answer(call);
    if (!this.#slots.isOpen(call.toolCallId)) return 'answered';
    return this.#parked.has(call.toolCallId) ? 'parked' : 'left';
  }

  /**
   * Writes an error result for a call whose tool ran in a process that died. The result states that the tool
   * may have completed.
   */
  async #reportUnknownOutcome(call: ToolCallPart): Promise<'answered'> {
    const text =
      'It was interrupted, and nobody knows whether it was done. Look before you do it again.';
    await this.#write(this.#slots.fill(errorResult(call, text)));
    return 'answered';
  }

  #start(ready: DecidedCall, before: readonly ToolCallPart[]): Promise<'undecided' | undefined> {
    const running = this.#limiter.run((hasWaited) => this.#execute(ready, before, hasWaited));
    this.#running.set(ready.call.toolCallId, running);
    return running;
  }

  /**
   * Runs the call when the limiter has a free slot. While the call waits for a slot, an abort or an answer
   * may arrive, and the decision of the policy may change. `undecided` means that the call did not run, because it
   * now needs an answer of the user.
   */
  async #execute(
    waiting: DecidedCall,
    before: readonly ToolCallPart[],
    hasWaited: boolean,
  ): Promise<'undecided' | undefined> {
    const { call, tool } = waiting;
    const stop = this.#stop.signal;
    if (this.#isOver) return undefined;
    const ready = await this.#decisions.decideAgain(waiting, hasWaited);
    if (ready === 'undecided') return ready;
    if (ready === 'left') return undefined;
    if (isRefusal(ready)) {
      // If the call started early, its slot is refused with the slots of the other calls.
      if (this.#isAdopted) await this.#reject(call, ready.refused, ready.message);
      return undefined;
    }
    const handOffs = tool.handsOff && (await this.#loadHandOffs());
    const options = {
      ...{ context: this.#context, at: this.#at, slots: this.#slots, stop },
      answers: this.#formAnswers,
      isOver: () => this.#isOver,
      isAdopted: () => this.#isAdopted || this.#hasResponseEnded,
      checkResult: (part: ToolResultPart) =>
        this.#decisions.withChange(call, handOffs?.checkResult(ready, part) ?? part),
      handOffDrafts: (part: ToolResultPart) => handOffs?.draftsFor(ready, part) ?? [],
      onChild: (one: ChildCall | undefined) => one && this.#children.set(call.toolCallId, one),
    };
    this.#parked.delete(call.toolCallId);
    let answered = '';
    // After an abort, no execution starts, even if the record of the abort is not on the log yet.
    for (let tried = 0; !this.#isOver; ) {
      const slots = this.#slots.reserve([...before, call]);
      const outcome = await executeOnce(ready, slots, tried < tool.retries, options);
      if (outcome.type === 'done') return undefined;
      if (outcome.type === 'retry') tried++;
      else {
        // The user may have answered while the sub-agent was parking. The tool then runs again.
        const answers = outcome.childCall.newAnswers.join('\n');
        if (answers === answered) {
          this.#parked.add(call.toolCallId);
          return undefined;
        }
        answered = answers;
      }
    }
    return undefined;
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

/**
 * Runs at most `width` tasks at the same time, in the order in which they arrive. A task learns whether it had to
 * wait.
 */
class ConcurrencyLimiter {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  async run<T>(work: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const hasWaited = this.#free === 0;
    if (hasWaited) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    try {
      return await work(hasWaited);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
