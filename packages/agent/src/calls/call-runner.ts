import type {
  DraftRecord,
  ExecutionId,
  ItemId,
  RejectionCode,
  ToolCallId,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';
import type { RunContext } from '../run/context.ts';
import type { PendingCall } from '../run/settings.ts';
import { Gate } from './gate.ts';
import { perform } from './perform.ts';
import { prepare } from './prepare.ts';
import { resultPart } from './result-part.ts';
import { ResultPlaces } from './result-places.ts';

export interface CallsOf {
  readonly turn: number;
  readonly attempt: number;
  /** Where answers are, if there are some already. */
  readonly toolItemId: ItemId | undefined;
}

/** Answers the calls of one attempt: each gets exactly one result, whatever happens. */
export class CallRunner {
  readonly #context: RunContext;
  readonly #at: { readonly turn: number; readonly attempt: number };
  readonly #gate: Gate;
  /** Stops what runs, with the run or with the attempt. */
  readonly #stop = new AbortController();
  readonly #places: ResultPlaces;
  readonly #running = new Map<ToolCallId, Promise<void>>();
  /** The response came to its end: what runs counts. */
  #isAdopted = false;

  constructor(context: RunContext, { turn, attempt, toolItemId }: CallsOf) {
    this.#context = context;
    this.#at = { turn, attempt };
    this.#gate = new Gate(context.settings.limits.maxParallelTools);
    this.#places = new ResultPlaces(this.#at, context.settings.ids, toolItemId);
    const onAbort = () => this.#stop.abort();
    if (context.signal.aborted) onAbort();
    else context.signal.addEventListener('abort', onAbort, { signal: this.#stop.signal });
  }

  /** A call is whole while the model still speaks: one without effects may start. */
  async speculate(call: ToolCallPart, before: readonly ToolCallPart[]): Promise<void> {
    const { tools, approve } = this.#context.settings;
    if (tools.get(call.name)?.effects !== 'none') return;
    const ready = await prepare(call, tools);
    if (!ready.ok || this.#stop.signal.aborted || this.#isAdopted) return;
    const decision = await approve(ready);
    const isAllowed = (typeof decision === 'string' ? decision : decision.decision) === 'allow';
    if (!isAllowed || this.#stop.signal.aborted || this.#isAdopted) return;
    // Where it cannot be written down, the run stops, and says so.
    this.#start(ready, before).catch(() => {});
  }

  /** Resolves when each of them has its result, or waits for nothing but a person who is not waited for. */
  async answer(calls: readonly ToolCallPart[]): Promise<'answered' | 'parked'> {
    this.#isAdopted = true;
    await this.#write(this.#places.place(calls));
    const answers = await Promise.all(calls.map((call) => this.#answer(call)));
    if (answers.includes('parked')) return 'parked';
    return 'answered';
  }

  /** None of them runs. */
  async reject(calls: readonly ToolCallPart[], code: 'aborted' | 'cut'): Promise<void> {
    const message =
      code === 'aborted'
        ? 'It was stopped before it was done.'
        : 'It was not run: the answer was cut off. Make the call again if it is still wanted.';
    await this.#write(this.#places.place(calls));
    for (const call of calls) await this.#reject(call, code, message);
  }

  /** What runs is stopped, and does not count. */
  async halt(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  /** The response did not come to its end with calls: nor does what is done already count. */
  async discard(): Promise<void> {
    await this.halt();
    await this.#write(this.#places.retract(this.#context.journal.state));
  }

  /** Everything has its result. */
  async finish(): Promise<void> {
    await Promise.all(this.#running.values());
    await this.#write(this.#places.finish(this.#context.journal.state));
  }

  async #answer(call: ToolCallPart): Promise<'answered' | 'parked'> {
    const running = this.#running.get(call.toolCallId);
    if (running !== undefined) {
      await running;
      return 'answered';
    }
    const decided = await this.#decide(call);
    if (decided === 'parked' || decided === 'answered') return decided;
    await this.#gate.through(() => this.#start(decided, []));
    return 'answered';
  }

  /** May it run, and with what? */
  async #decide(call: ToolCallPart): Promise<PendingCall | 'answered' | 'parked'> {
    const { settings, journal, signal } = this.#context;
    const { tools, approve, whileAsking } = settings;
    const known = () => journal.loop.turn?.calls.get(call.toolCallId);
    const ready = await prepare(call, tools, known()?.answer?.input);
    if (!ready.ok) return this.#reject(call, ready.code, ready.message);
    const { execution, answer: earlier } = known() ?? {};
    if (execution?.isLost) return ready.tool.replay === 'safe' ? ready : this.#unknown(call);
    if (earlier?.decision === 'allow') return ready;
    const given = known()?.isAsked ? 'ask' : await approve(ready);
    const { decision, reason } =
      typeof given === 'string' ? { decision: given, reason: undefined } : given;
    if (decision === 'allow') return ready;
    if (decision === 'deny') return this.#reject(call, 'denied', refusal(reason));
    if (!known()?.isAsked) await this.#ask(ready, reason);
    if (known()?.answer === undefined && whileAsking === 'park') return 'parked';
    await this.#answered(call.toolCallId);
    const answer = known()?.answer;
    if (signal.aborted || answer === undefined)
      return this.#reject(call, 'aborted', 'It was stopped before anybody decided.');
    if (answer.decision === 'deny') return this.#reject(call, 'denied', refusal(answer.reason));
    if (answer.input === undefined) return ready;
    const changed = await prepare(call, tools, answer.input);
    return changed.ok ? changed : this.#reject(call, changed.code, changed.message);
  }

  /** It ran in a process that died: perhaps to its end. */
  async #unknown(call: ToolCallPart): Promise<'answered'> {
    const text =
      'It was interrupted, and nobody knows whether it was done. Look before you do it again.';
    await this.#write(this.#places.fill(failure(call, text)));
    return 'answered';
  }

  #ask({ call: { toolCallId, name } }: PendingCall, reason: string | undefined): Promise<void> {
    const fact = {
      type: 'approval_asked',
      toolCallId,
      name,
      ...(reason !== undefined && { reason }),
    } as const;
    return this.#write([{ ...this.#at, fact }]);
  }

  readonly #waiting = new Map<ToolCallId, () => void>();

  /** Somebody decided on a call: whoever waits for that goes on. */
  wake(id: ToolCallId): void {
    this.#waiting.get(id)?.();
  }

  async #answered(id: ToolCallId): Promise<void> {
    const { journal, signal } = this.#context;
    if (journal.loop.turn?.calls.get(id)?.answer !== undefined || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#waiting.set(id, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#waiting.delete(id);
  }

  #start(ready: PendingCall, before: readonly ToolCallPart[]): Promise<void> {
    const { call } = ready;
    const running = this.#execute(ready, before);
    this.#running.set(call.toolCallId, running);
    return running;
  }

  async #execute(ready: PendingCall, before: readonly ToolCallPart[]): Promise<void> {
    for (let tried = 0; ; tried++) {
      const isDone = await this.#tryOnce(ready, before, tried < ready.tool.retries);
      if (isDone) return;
    }
  }

  async #tryOnce(
    { call, tool, input, summary }: PendingCall,
    before: readonly ToolCallPart[],
    mayFail: boolean,
  ): Promise<boolean> {
    const { settings, journal, session } = this.#context;
    const { ids, clock, log, retry } = settings;
    const { toolCallId, name } = call;
    const executionId = ids.execution();
    const child = tool.startsSession ? ids.session() : undefined;
    const about = { toolCallId, name, executionId };
    const started = {
      type: 'tool_execution_started',
      ...about,
      summary,
      ...(child && { child }),
    } as const;
    await this.#write([...this.#places.place([...before, call]), { ...this.#at, fact: started }]);
    const { id: runId } = journal.loop.run ?? { id: '' as never };
    const context = {
      ...{ session, runId, turn: this.#at.turn, toolCallId, executionId, child },
      blobs: log.blobs,
      update: (text: string) => this.#update(toolCallId, text),
    };
    const performed = await perform(tool, input, context, {
      clock,
      graceMs: retry.toolGraceMs,
      stop: this.#stop.signal,
    });
    if (!this.#isAdopted && this.#stop.signal.aborted) {
      await this.#write([this.#finished(about, true, 'discarded')]);
      return true;
    }
    if (performed.hasThrown && mayFail && !this.#stop.signal.aborted) {
      await this.#write([this.#finished(about, true, 'completed')]);
      return false;
    }
    const part = await resultPart(call, performed.output, tool, log.blobs);
    await this.#write([
      ...this.#places.fill(part),
      this.#finished(about, part.isError, 'completed'),
    ]);
    return true;
  }

  #finished(
    about: {
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
    },
    isError: boolean,
    outcome: 'completed' | 'discarded',
  ): DraftRecord {
    return { ...this.#at, fact: { type: 'tool_execution_finished', ...about, isError, outcome } };
  }

  #update(id: ToolCallId, text: string): void {
    const told = text === '' ? [] : this.#places.append(id, text);
    if (told.length > 0) this.#context.journal.stream(told).catch(() => {});
  }

  async #reject(call: ToolCallPart, code: RejectionCode, message: string): Promise<'answered'> {
    const { toolCallId, name } = call;
    const fact = { type: 'tool_call_rejected', toolCallId, name, code, message } as const;
    await this.#write([{ ...this.#at, fact }, ...this.#places.fill(failure(call, message))]);
    return 'answered';
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return drafts.length === 0 ? Promise.resolve() : this.#context.journal.write(drafts);
  }
}

function failure({ toolCallId, name }: ToolCallPart, text: string): ToolResultPart {
  return { kind: 'tool_result', toolCallId, name, text, isError: true };
}

function refusal(reason: string | undefined): string {
  return reason === undefined ? 'It was not allowed.' : `It was not allowed: ${reason}`;
}
