import {
  type AgentEvent,
  type ErrorInfo,
  type ExecutionId,
  type Fact,
  type FactRecord,
  type LogRecord,
  parseTraceparent,
  type RunId,
  type SessionId,
  type Stop,
  spanIdOf,
  traceIdOf,
} from '@millrace/core';
import type { ObservedRun } from '../../contract/observer.ts';
import type { Attributes } from '../../contract/telemetry.ts';
import {
  ofAgent,
  ofCall,
  ofExecution,
  ofRequest,
  ofResponse,
  ofSession,
  ofStop,
  ofUsage,
  TracedContent,
} from './span-attributes.ts';
import {
  type AttemptSpan,
  type ExecutionSpan,
  type SpanFactory,
  type SpanStart,
  TimedSpan,
} from './timed-span.ts';

interface TraceOptions extends SpanFactory {
  readonly agentName: string | undefined;
  readonly recordContent: boolean;
  /**
   * The span of the tool execution that runs this session. Undefined if this is not the session of a
   * sub-agent.
   */
  readonly parent: TimedSpan | undefined;
}

type SpanIdOf = (run: RunId) => string;
type FactOf<Type extends Fact['type']> = Extract<Fact, { readonly type: Type }>;

/** The open spans of one session. A run contains turns, and a turn contains attempts and tool executions. */
export class SessionTrace {
  readonly #session: SessionId;
  readonly #options: TraceOptions;
  readonly #content: TracedContent | undefined;
  readonly #executions = new Map<ExecutionId, ExecutionSpan>();
  #run: TimedSpan | undefined;
  /** The run. The ids of the spans are computed from its id. */
  #runInfo: ObservedRun | undefined;
  #lastTurn = 0;
  #turn: { readonly turn: number; readonly span: TimedSpan } | undefined;
  #attempt: AttemptSpan | undefined;
  #lastError: ErrorInfo | undefined;
  #lastMs = 0;

  constructor(session: SessionId, options: TraceOptions) {
    this.#session = session;
    this.#options = options;
    this.#content = options.recordContent ? new TracedContent() : undefined;
  }

  get isIdle(): boolean {
    return !this.#run && !this.#turn && !this.#attempt && this.#executions.size === 0;
  }

  /** Returns the span of the tool execution that runs the given session, if there is one. */
  parentOf(session: SessionId): TimedSpan | undefined {
    return this.#executions.values().find(({ child }) => child === session)?.span;
  }

  onRecord(record: LogRecord, events: readonly AgentEvent[], run?: ObservedRun): void {
    this.#lastMs = record.time;
    this.#runInfo = run ?? runInfoOf(record) ?? this.#runInfo;
    if (record.fact === undefined) this.#noteChunk(record);
    else {
      if (run?.trace !== undefined) this.#resumeRun(record, run);
      this.#onFact(record, record.fact);
    }
    if (this.#content !== undefined) for (const event of events) this.#content.onEvent(event);
  }

  /** Ends all open spans and marks them as unfinished. */
  end(timeMs: number = this.#lastMs, failure?: string): void {
    const open = [...this.#executions.values(), this.#attempt, this.#turn, { span: this.#run }];
    for (const span of open.map((one) => one?.span)) {
      span?.set({ 'millrace.unfinished': true });
      if (failure !== undefined) span?.fail(failure);
      span?.end(timeMs);
    }
    this.#executions.clear();
    this.#attempt = undefined;
    this.#turn = undefined;
    this.#run = undefined;
  }

  #onFact(record: FactRecord, fact: Fact): void {
    switch (fact.type) {
      case 'run_started':
        return this.#startRun(record, fact.runId);
      case 'run_finished':
        return this.#finishRun(record, fact.stop);
      case 'turn_started':
        return this.#startTurn(record);
      case 'turn_finished':
        return this.#finishTurn(record, fact.stop);
      case 'response_started':
        return this.#startAttempt(record, fact);
      case 'response_finished':
        return this.#finishAttempt(record, fact);
      case 'usage_reported':
        return this.#attemptOf(record)?.span.set(ofUsage(fact.usage));
      case 'attempt_superseded':
        return this.#supersede(record);
      case 'retry_scheduled':
      case 'error_reported':
        return this.#noteError(record, fact.error);
      case 'tool_execution_started':
        return this.#startExecution(record, fact);
      case 'tool_execution_finished':
        return this.#finishExecution(record, fact);
      case 'tool_call_rejected':
        return this.#note(record, { ...ofCall(fact), 'millrace.code': fact.code });
      case 'approval_asked':
        return this.#note(record, ofCall(fact));
      case 'approval_answered':
        return this.#note(record, { ...ofCall(fact), 'millrace.decision': fact.decision });
      case 'aborted':
      case 'compacted':
      case 'handed_off':
        return this.#note(record, {});
      default:
    }
  }

  /** Continues the spans of a run that a different process started. The spans get the same ids. */
  #resumeRun(record: FactRecord, run: ObservedRun): void {
    const { fact, turn } = record;
    if (fact.type === 'run_started') return;
    if (this.#run === undefined) this.#startRun(record, run.id, { 'millrace.resumed': true });
    const isOpen = this.#turn === undefined && turn > this.#lastTurn;
    if (isOpen && fact.type !== 'turn_started') this.#startTurn(record);
  }

  #start(
    { name, ...start }: Omit<SpanStart, 'attributes'> & { readonly id: SpanIdOf },
    attributes: Attributes,
  ): TimedSpan {
    const all = { ...ofSession(this.#session), ...attributes };
    const { id: run } = this.#runInfo ?? {};
    const ids = run && { traceId: traceIdOf(run), spanId: start.id(run) };
    return new TimedSpan(this.#options, { name, ...start, ids, attributes: all });
  }

  #note({ fact, time }: FactRecord, attributes: Attributes): void {
    (this.#turn?.span ?? this.#run)?.note(fact.type, attributes, time);
  }

  #startRun({ time: timeMs }: FactRecord, runId: RunId, more: Attributes = {}): void {
    // The previous driver of the session stopped without finishing its run.
    this.end(timeMs, 'interrupted');
    const { parent } = this.#options;
    // The `agentName` option applies only to the main agent, not to its sub-agents.
    const given = parent ? undefined : this.#options.agentName;
    const agentName = given ?? this.#runInfo?.agent;
    const name = agentName === undefined ? 'invoke_agent' : `invoke_agent ${agentName}`;
    const attributes = { ...ofAgent(agentName), 'millrace.run.id': runId, ...more };
    const { trace } = this.#runInfo ?? {};
    const remote = trace && parseTraceparent(trace.traceparent);
    this.#run = this.#start({ name, timeMs, parent, remote, id: spanIdOf.run }, attributes);
    this.#lastError = undefined;
  }

  #finishRun({ time }: FactRecord, stop: Stop): void {
    const run = this.#run;
    this.#run = undefined;
    this.end(time);
    if (run !== undefined) this.#stop(run, stop, time);
  }

  #startTurn({ time: timeMs, turn }: FactRecord): void {
    const parent = this.#run ?? this.#options.parent;
    const id = (run: RunId) => spanIdOf.turn(run, turn);
    const span = this.#start({ name: 'turn', timeMs, parent, id }, { 'millrace.turn': turn });
    this.#turn?.span.set({ 'millrace.unfinished': true });
    this.#turn?.span.end(timeMs);
    this.#turn = { turn, span };
    this.#lastTurn = turn;
  }

  #finishTurn({ time, turn }: FactRecord, stop: Stop): void {
    if (this.#attempt?.turn === turn) {
      this.#stop(this.#attempt.span, stop, this.#attempt.failedMs ?? time);
      this.#attempt = undefined;
    }
    for (const [id, execution] of this.#executions) {
      if (execution.turn !== turn) continue;
      execution.span.set({ 'millrace.unfinished': true });
      execution.span.end(time);
      this.#executions.delete(id);
    }
    if (this.#turn?.turn !== turn) return;
    this.#stop(this.#turn.span, stop, time);
    this.#turn = undefined;
  }

  #stop(span: TimedSpan, stop: Stop, timeMs: number): void {
    span.set(ofStop(stop));
    if (stop.reason === 'error') {
      const { code = stop.cause ?? 'error', message } = this.#lastError ?? {};
      this.#fail(span, code, message);
    }
    span.end(timeMs);
  }

  /** Marks the span as failed. The message may quote content, so it is recorded only with `recordContent`. */
  #fail(span: TimedSpan, code: string, message: string | undefined): void {
    span.fail(code, this.#options.recordContent ? message : undefined);
  }

  #parentIn(turn: number): TimedSpan | undefined {
    return (this.#turn?.turn === turn ? this.#turn.span : this.#run) ?? this.#options.parent;
  }

  #startAttempt(record: FactRecord, fact: FactOf<'response_started'>): void {
    const { turn, attempt, time: timeMs } = record;
    this.#attempt?.span.end(this.#attempt.failedMs ?? timeMs);
    const attributes = { ...ofRequest(fact), 'millrace.turn': turn, 'millrace.attempt': attempt };
    const id = (run: RunId) => spanIdOf.attempt(run, { turn, attempt });
    const start = { name: `chat ${fact.model}`, kind: 'client', timeMs, id } as const;
    const span = this.#start({ ...start, parent: this.#parentIn(turn) }, attributes);
    const state = { startMs: timeMs, hasBegun: false, failedMs: undefined };
    // A new attempt clears the error of the previous one.
    this.#lastError = undefined;
    this.#attempt = { turn, attempt, span, ...state };
  }

  #attemptOf({ turn, attempt }: LogRecord): AttemptSpan | undefined {
    const known = this.#attempt;
    return known?.turn === turn && known.attempt === attempt ? known : undefined;
  }

  #noteChunk(record: LogRecord): void {
    const attempt = this.#attemptOf(record);
    if (attempt === undefined || attempt.hasBegun) return;
    attempt.hasBegun = true;
    const seconds = Math.max(0, record.time - attempt.startMs) / 1000;
    attempt.span.set({ 'gen_ai.response.time_to_first_chunk': seconds });
  }

  #finishAttempt(record: FactRecord, { stop, usage }: FactOf<'response_finished'>): void {
    const { turn, attempt, time } = record;
    const known = this.#attemptOf(record);
    if (known === undefined) return;
    const content = this.#content?.ofResponse(turn, attempt, stop);
    known.span.set({ ...ofUsage(usage), ...ofResponse(stop), ...content });
    this.#stop(known.span, stop, time);
    this.#attempt = undefined;
  }

  #supersede(record: FactRecord): void {
    const known = this.#attemptOf(record);
    if (known === undefined) return;
    known.span.set({ 'millrace.superseded': true });
    known.span.end(known.failedMs ?? record.time);
    this.#attempt = undefined;
  }

  #noteError(record: FactRecord, error: ErrorInfo): void {
    this.#lastError = error;
    const known = this.#attemptOf(record);
    if (known === undefined) return;
    known.failedMs ??= record.time;
    this.#fail(known.span, error.code, error.message);
  }

  #startExecution(record: FactRecord, fact: FactOf<'tool_execution_started'>): void {
    const { turn, time: timeMs } = record;
    const { name, toolCallId, executionId, summary, child } = fact;
    if (this.#executions.has(executionId)) return;
    const content = this.#content && {
      'millrace.tool.summary': summary,
      ...this.#content.ofInput(toolCallId),
    };
    const id = (run: RunId) => spanIdOf.execution(run, executionId);
    const start = { name: `execute_tool ${name}`, timeMs, parent: this.#parentIn(turn), id };
    const span = this.#start(start, { ...ofExecution(fact), ...content });
    this.#executions.set(executionId, { turn, span, child });
  }

  #finishExecution({ time }: FactRecord, fact: FactOf<'tool_execution_finished'>): void {
    const { executionId, toolCallId, outcome, isError } = fact;
    const span = this.#executions.get(executionId)?.span;
    if (span === undefined) return;
    span.set({ 'millrace.tool.outcome': outcome, ...this.#content?.ofResult(toolCallId) });
    if (outcome === 'lost') span.fail('lost');
    if (outcome === 'completed' && isError) span.fail('tool_error');
    span.end(time);
    this.#executions.delete(executionId);
  }
}

/** Returns the run of a `run_started` record. It is used if the observer is called without a run. */
function runInfoOf({ fact }: LogRecord): ObservedRun | undefined {
  return fact?.type === 'run_started' ? { id: fact.runId, trace: fact.trace } : undefined;
}
