import type {
  Attempt,
  DraftRecord,
  ItemId,
  RejectionCode,
  ToolCallId,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import type { CallState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { PendingCall } from '../contract/settings.ts';
import type { HandOff } from '../contract/tool.ts';
import { Approvals } from './approvals.ts';
import { executeOnce } from './execution.ts';
import { prepareCall } from './prepare-call.ts';
import { ResultSlots } from './result-slots.ts';
import { denialText, errorResult } from './tool-result.ts';

interface CallRunnerOptions extends Attempt {
  /** Where answers are, if there are some already. */
  readonly toolItemId: ItemId | undefined;
}

/** What became of a call: it has its result, waits for a person, or was left because all is to stop. */
type CallOutcome = 'answered' | 'parked' | 'left';

/** Answers the calls of one attempt: each gets exactly one result, whatever happens. */
export class CallRunner {
  readonly #context: RunContext;
  readonly #at: Attempt;
  readonly #limiter: ConcurrencyLimiter;
  /** Stops what runs, with the run or with the attempt. */
  readonly #stop = new AbortController();
  readonly #onAbort = () => this.#stop.abort();
  readonly #approvals: Approvals;
  readonly #slots: ResultSlots;
  readonly #handOffs: HandOffs;
  readonly #running = new Map<ToolCallId, Promise<void>>();
  /** The response came to its end: what runs counts. */
  #isAdopted = false;

  constructor(context: RunContext, { turn, attempt, toolItemId }: CallRunnerOptions) {
    const { settings, journal, signal } = context;
    this.#context = context;
    this.#at = { turn, attempt };
    this.#limiter = new ConcurrencyLimiter(settings.limits.maxParallelTools);
    this.#approvals = new Approvals(context, this.#at);
    this.#slots = new ResultSlots(this.#at, settings.ids, toolItemId, journal.state);
    this.#handOffs = new HandOffs(context, this.#at);
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort);
  }

  /** A call is whole while the model still speaks: one without effects may start. */
  async startEarly(call: ToolCallPart, before: readonly ToolCallPart[]): Promise<void> {
    const { tools } = this.#context.settings;
    if (tools.get(call.name)?.effects !== 'none') return;
    const ready = await prepareCall(call, tools);
    if (!ready.ok || this.#isLate(call)) return;
    const { decision } = await this.#approvals.policyDecision(ready);
    if (decision !== 'allow' || this.#isLate(call)) return;
    // Where it cannot be written down, the run stops, and says so.
    this.#start(ready, before).catch(() => {});
  }

  #isLate({ toolCallId }: ToolCallPart): boolean {
    return this.#isOver || this.#isAdopted || this.#running.has(toolCallId);
  }

  /** The response is on the log with its calls: what was begun while it streamed counts. */
  get #hasResponseEnded(): boolean {
    const { turn } = this.#context.journal.loop;
    return turn?.attempt === this.#at.attempt && turn.stop?.reason === 'tool_use';
  }

  get #isOver(): boolean {
    return this.#stop.signal.aborted || this.#context.phase.isAborting;
  }

  /** Somebody decided on a call. */
  wake(id: ToolCallId): void {
    this.#approvals.wake(id);
  }

  /** Resolves when each of them has its result, waits for nothing but a person, or all is to stop. */
  async answer(calls: readonly ToolCallPart[]): Promise<'answered' | 'parked'> {
    this.#isAdopted = true;
    await this.#write(this.#slots.reserve(calls));
    const fates = await Promise.all(calls.map((call) => this.#answer(call)));
    const parked = calls.filter((_call, at) => fates[at] === 'parked');
    // While others ran, somebody may have answered: then there is something to do.
    const isWaiting = parked.every((call) => this.#callState(call)?.answer === undefined);
    return parked.length > 0 && isWaiting && !fates.includes('left') ? 'parked' : 'answered';
  }

  /** None of them runs. */
  async reject(calls: readonly ToolCallPart[], code: 'aborted' | 'cut'): Promise<void> {
    const message =
      code === 'aborted'
        ? 'It was stopped before it was done.'
        : 'It was not run: the answer was cut off. Make the call again if it is still wanted.';
    if (code === 'aborted') await this.halt();
    await this.#write(this.#slots.reserve(calls));
    for (const call of calls)
      if (this.#slots.isOpen(call.toolCallId)) await this.#reject(call, code, message);
  }

  /** What runs is stopped, and is waited for. */
  async halt(): Promise<void> {
    this.#stop.abort();
    this.#context.signal.removeEventListener('abort', this.#onAbort);
    await this.settled();
  }

  /** When what runs now has its result. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  /** The response did not come to its end with calls: nor does what is done already count. */
  async discard(): Promise<void> {
    await this.halt();
    await this.#write(this.#slots.retract(this.#context.journal.state));
  }

  /** The attempt is superseded, and all that is told of it from now on comes too late. */
  abandon(): void {
    this.#slots.close();
  }

  /** Everything has its result. */
  async finish(): Promise<void> {
    await Promise.all(this.#running.values());
    this.#context.signal.removeEventListener('abort', this.#onAbort);
    await this.#write(this.#slots.finish(this.#context.journal.state));
  }

  async #answer(call: ToolCallPart): Promise<CallOutcome> {
    await this.#running.get(call.toolCallId);
    if (!this.#slots.isOpen(call.toolCallId)) return 'answered';
    const decided = await this.#decide(call);
    if (typeof decided === 'string') return decided;
    await this.#start(decided, []);
    return this.#slots.isOpen(call.toolCallId) ? 'left' : 'answered';
  }

  /** May it run, and with what? */
  async #decide(call: ToolCallPart): Promise<PendingCall | CallOutcome> {
    const { tools, whileAsking } = this.#context.settings;
    const stop = this.#stop.signal;
    const work = prepareCall(call, tools, this.#callState(call)?.answer?.input);
    const ready = await raceAbort(work, stop);
    if (ready === halted) return 'left';
    if (!ready.ok) return this.#reject(call, ready.code, ready.message);
    if (this.#callState(call)?.execution?.isLost)
      return ready.tool.replay === 'safe' ? ready : this.#reportUnknownOutcome(call);
    if (!this.#callState(call)?.isAsked) {
      const ruling = await raceAbort(this.#approvals.policyDecision(ready), stop);
      if (ruling === halted) return 'left';
      if (ruling.decision === 'deny')
        return this.#reject(call, 'denied', denialText(ruling.reason));
      if (ruling.decision === 'allow') return ready;
      if (this.#callState(call)?.answer === undefined)
        await this.#write([this.#approvals.askedDraft(ready, ruling)]);
    }
    if (this.#callState(call)?.answer === undefined && whileAsking === 'park') return 'parked';
    await this.#approvals.waitForAnswer(call.toolCallId, stop);
    return this.#applyAnswer(ready);
  }

  async #applyAnswer(ready: PendingCall): Promise<PendingCall | CallOutcome> {
    const { call } = ready;
    const answer = this.#callState(call)?.answer;
    if (answer === undefined) return 'left';
    if (answer.decision === 'deny') return this.#reject(call, 'denied', denialText(answer.reason));
    if (answer.input === undefined) return ready;
    const work = prepareCall(call, this.#context.settings.tools, answer.input);
    const changed = await raceAbort(work, this.#stop.signal);
    if (changed === halted) return 'left';
    return changed.ok ? changed : this.#reject(call, changed.code, changed.message);
  }

  /** What is on the log about a call. */
  #callState({ toolCallId }: ToolCallPart): CallState | undefined {
    return this.#context.journal.loop.turn?.calls.get(toolCallId);
  }

  /** It ran in a process that died: perhaps to its end. */
  async #reportUnknownOutcome(call: ToolCallPart): Promise<'answered'> {
    const text =
      'It was interrupted, and nobody knows whether it was done. Look before you do it again.';
    await this.#write(this.#slots.fill(errorResult(call, text)));
    return 'answered';
  }

  #start(ready: PendingCall, before: readonly ToolCallPart[]): Promise<void> {
    const running = this.#limiter.run(() => this.#execute(ready, before));
    this.#running.set(ready.call.toolCallId, running);
    return running;
  }

  /** Its turn has come; much may have happened while it waited for that. */
  async #execute(waiting: PendingCall, before: readonly ToolCallPart[]): Promise<void> {
    const { call, tool } = waiting;
    const stop = this.#stop.signal;
    if (this.#isOver) return;
    const ready = this.#callState(call)?.answer ? await this.#applyAnswer(waiting) : waiting;
    if (typeof ready === 'string') return;
    const options = {
      ...{ context: this.#context, at: this.#at, slots: this.#slots, stop },
      isOver: () => this.#isOver,
      isAdopted: () => this.#isAdopted || this.#hasResponseEnded,
      checkResult: (part: ToolResultPart) => this.#handOffs.checkResult(ready, part),
      handOffDrafts: (part: ToolResultPart) => this.#handOffs.draftsFor(ready, part),
    };
    // After an abort nothing is begun, not even where the log has not told of it yet.
    for (let tried = 0; !this.#isOver; tried++) {
      const slots = this.#slots.reserve([...before, call]);
      if (await executeOnce(ready, slots, tried < tool.retries, options)) return;
    }
  }

  async #reject(call: ToolCallPart, code: RejectionCode, message: string): Promise<'answered'> {
    const { toolCallId, name } = call;
    const fact = { type: 'tool_call_rejected', toolCallId, name, code, message } as const;
    await this.#write([{ ...this.#at, fact }, ...this.#slots.fill(errorResult(call, message))]);
    return 'answered';
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return drafts.length === 0 ? Promise.resolve() : this.#context.journal.write(drafts);
  }
}

/** To whom an attempt's calls hand the session over: of several, the first counts. */
class HandOffs {
  readonly #context: RunContext;
  readonly #at: Attempt;
  #isDone = false;

  constructor(context: RunContext, at: Attempt) {
    this.#context = context;
    this.#at = at;
  }

  /** What the model is told of one that comes too late. */
  checkResult({ call, tool }: PendingCall, part: ToolResultPart): ToolResultPart {
    const isTaken = this.#isDone || this.#context.journal.loop.turn?.handedTo !== undefined;
    if (tool.handsOff === undefined || part.isError || !isTaken) return part;
    return errorResult(call, 'It was handed to somebody else already.');
  }

  draftsFor({ tool, input }: PendingCall, { isError }: ToolResultPart): readonly DraftRecord[] {
    const { handsOff } = tool;
    if (handsOff === undefined || isError) return [];
    this.#isDone = true;
    const to = handsOff.to().name;
    const reason = reasonOf(handsOff, input);
    const fact = { type: 'handed_off', to, ...(reason !== undefined && { reason }) } as const;
    return [{ ...this.#at, fact }];
  }
}

/** It is done either way. */
function reasonOf(handsOff: HandOff, input: unknown): string | undefined {
  try {
    return handsOff.reason(input);
  } catch {
    return undefined;
  }
}

/** Lets so many through at once, in the order in which they came. */
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
