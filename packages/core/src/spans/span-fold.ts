import type { Attempt, RunId } from '../ids.ts';
import type { Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import type { LogRecord } from '../protocol/record.ts';
import { spanIdOf } from '../trace/span-ids.ts';
import { parseTraceparent } from '../trace/trace-context.ts';
import { type Span, type SpanKind, statusOfStop, stopText } from './span.ts';

type Change = Partial<Omit<Span, 'id' | 'kind' | 'startTime' | 'offset'>>;
type FactOf<Type extends Fact['type']> = Extract<Fact, { readonly type: Type }>;

/** Options of `SpanFold`. */
export interface SpanFoldOptions {
  /** The offset before the first record. Default: 0, the start of the log. */
  readonly after?: number;
}

/** Folds all records of a session, or a range of them, to spans. */
export function spansOf(records: Iterable<LogRecord>, options?: SpanFoldOptions): readonly Span[] {
  const fold = new SpanFold(options);
  for (const record of records) fold.add(record);
  return fold.spans;
}

/** The maximum number of commands that are kept until they are consumed. */
const maxQueued = 1000;

/**
 * Folds records to spans: runs, turns, attempts, calls, approvals and retries. The time for a record does not
 * depend on the length of the session. The fold may start at any record. It then creates missing turns and
 * attempts, and marks them as cut.
 */
export class SpanFold {
  /** The spans in the order of their start, so that each span comes after its parent. */
  readonly #spans = new Map<string, Span>();
  readonly #isCut: boolean;
  #listed: readonly Span[] | undefined;
  #runs = 0;
  #run: string | undefined;
  /** The id of the current run. Undefined if the run belongs to no trace. */
  #tracedRun: RunId | undefined;
  /** True if the run was stopped. Tool errors after that are a result of the stop. */
  #isStopped = false;
  /** The spans of open approvals by their call. They stay open when their turn is parked. */
  readonly #approvals = new Map<string, { readonly id: string } & Attempt>();
  /** The open spans of each turn. When the turn ends, all of them end. */
  readonly #openInTurn = new Map<number, Set<string>>();
  /** The span of the last execution of each call. */
  readonly #executions = new Map<string, string>();
  /** The time at which each command that is not consumed yet was queued, by the key of the command. */
  readonly #queued = new Map<string, number>();
  /** The time at which the first message of the next run was queued. */
  #queuedTime: number | undefined;

  constructor({ after = 0 }: SpanFoldOptions = {}) {
    this.#isCut = after > 0;
  }

  /** The current spans, in the order of their start. The array stays the same object until a span changes. */
  get spans(): readonly Span[] {
    this.#listed ??= [...this.#spans.values()];
    return this.#listed;
  }

  /** The current number of spans. */
  get size(): number {
    return this.#spans.size;
  }

  /** Returns the span with this id. */
  get(id: string): Span | undefined {
    return this.#spans.get(id);
  }

  /** Adds the next record. Records must be added in the order of their offsets. */
  add(record: LogRecord): void {
    if (record.turn > 0) this.#ensureTurn(record);
    if (record.attempt > 0) this.#trackAttempt(record);
    if (record.fact !== undefined) this.#addFact(record, record.fact);
  }

  #ensureTurn(record: LogRecord): void {
    const { turn } = record;
    const id = turnId(turn);
    if (this.#spans.has(id)) return;
    this.#begin(record, id, 'turn', this.#run, {
      ...{ name: `Turn ${turn}`, isCut: this.#isCut && record.fact?.type !== 'turn_started' },
      ...this.#trace((run) => spanIdOf.turn(run, turn)),
    });
  }

  #trackAttempt(record: LogRecord): void {
    const { turn, attempt, delta, time } = record;
    const id = attemptId(record);
    let span = this.#spans.get(id);
    if (span === undefined) {
      span = this.#begin(record, id, 'attempt', turnId(turn), {
        ...{ name: `Attempt ${attempt}`, isCut: this.#spans.get(turnId(turn))?.isCut ?? false },
        ...this.#trace((run) => spanIdOf.attempt(run, { turn, attempt })),
      });
    }
    // Content after the end of the answer is the output of a tool.
    const isFirst = span.firstContentTime === undefined && span.endTime === undefined;
    if (isFirst && isContent(delta)) this.#change(id, { firstContentTime: time });
  }

  #addFact(record: LogRecord, fact: Fact): void {
    switch (fact.type) {
      case 'run_started':
        return this.#beginRun(record, fact);
      case 'run_finished':
        return this.#endRun(record, fact);
      case 'turn_finished':
        return this.#endTurn(record, fact);
      case 'response_started': {
        const { provider, model, version } = fact;
        const names = { name: model, provider, model, version };
        return this.#change(attemptId(record), { ...names, isCut: false });
      }
      case 'response_finished': {
        const { stop, usage } = fact;
        this.#change(attemptId(record), { usage, stop });
        const change = { detail: stopText(stop), status: statusOfStop(stop) };
        return this.#end(record, attemptId(record), change);
      }
      case 'usage_reported':
        return this.#change(attemptId(record), { usage: fact.usage });
      case 'attempt_superseded':
        return this.#supersede(record, fact.reason);
      case 'retry_scheduled':
        return this.#retry(record, fact);
      case 'error_reported':
        return this.#addError(record, fact);
      case 'aborted':
        this.#isStopped = true;
        return;
      case 'command_queued':
        if (this.#queued.size < maxQueued) this.#queued.set(fact.key, record.time);
        return;
      case 'command_consumed':
        return this.#consume(fact.key);
      default:
        return this.#addToolFact(record, fact);
    }
  }

  #beginRun(record: LogRecord, { runId, trace }: FactOf<'run_started'>): void {
    this.#runs++;
    this.#isStopped = false;
    this.#tracedRun = trace && runId;
    this.#run = `run ${runId}`;
    // The number of a run is not known if the fold started in the middle of the log.
    const name = this.#isCut ? 'Run' : `Run ${this.#runs}`;
    const traceId = trace && parseTraceparent(trace.traceparent)?.traceId;
    const queuedTime = this.#queuedTime;
    this.#queuedTime = undefined;
    this.#begin(record, this.#run, 'run', undefined, {
      ...{ name, runId, traceId, queuedTime },
      ...this.#trace(spanIdOf.run),
    });
  }

  #endRun(record: LogRecord, { runId, stop }: FactOf<'run_finished'>): void {
    const id = `run ${runId}`;
    if (this.#run === id) this.#run = undefined;
    this.#change(id, { stop });
    this.#end(record, id, { detail: stopText(stop), status: statusOfStop(stop) });
  }

  #endTurn(record: LogRecord, { stop }: FactOf<'turn_finished'>): void {
    const { turn } = record;
    for (const id of this.#openInTurn.get(turn) ?? []) this.#end(record, id, {});
    this.#openInTurn.delete(turn);
    this.#change(turnId(turn), { stop });
    this.#end(record, turnId(turn), { detail: stopText(stop), status: statusOfStop(stop) });
  }

  /**
   * Stores the time at which the message of the run was queued. If there are several messages, it stores the
   * time of the first one.
   */
  #consume(key: string): void {
    const time = this.#queued.get(key);
    this.#queued.delete(key);
    if (time === undefined) return;
    const run = this.#run === undefined ? undefined : this.#spans.get(this.#run);
    if (run === undefined) this.#queuedTime ??= time;
    else if (run.queuedTime === undefined && time <= run.startTime)
      this.#change(run.id, { queuedTime: time });
  }

  #addError(record: LogRecord, { error }: FactOf<'error_reported'>): void {
    if (record.attempt > 0) this.#change(attemptId(record), { error });
    if (record.turn > 0) this.#change(turnId(record.turn), { error });
    if (this.#run !== undefined) this.#change(this.#run, { error });
  }

  #addToolFact(record: LogRecord, fact: Fact): void {
    switch (fact.type) {
      case 'tool_execution_started':
        return this.#beginCall(record, fact);
      case 'tool_execution_finished': {
        const isLost = fact.outcome !== 'completed';
        const isError = fact.isError && !this.#isStopped;
        const status = isLost ? 'discarded' : isError ? 'error' : 'ok';
        const outcome = isLost ? { detail: fact.outcome } : {};
        return this.#end(record, callId(fact.executionId), { status, ...outcome });
      }
      case 'child_usage_reported':
        return this.#addChildUsage(record, fact);
      case 'approval_asked':
        return this.#beginApproval(record, fact);
      case 'approval_answered': {
        const detail = fact.decision === 'allow' ? 'allowed' : 'denied';
        return this.#endApproval(record, fact.toolCallId, { detail });
      }
      case 'tool_call_rejected':
        return this.#reject(record, fact);
      default:
        return;
    }
  }

  #beginCall(record: LogRecord, fact: FactOf<'tool_execution_started'>): void {
    const { toolCallId, executionId, child, name, summary } = fact;
    const id = callId(executionId);
    this.#endApproval(record, toolCallId, {});
    this.#executions.set(toolCallId, id);
    this.#begin(record, id, child === undefined ? 'call' : 'agent', parentIn(record), {
      ...{ name, detail: summary === name ? undefined : summary },
      ...{ toolCallId, executionId, child },
      ...this.#trace((run) => spanIdOf.execution(run, executionId)),
    });
  }

  /**
   * Adds an attempt of a sub-agent. The log of the caller contains the usage of the attempt, but not its
   * times.
   */
  #addChildUsage(record: LogRecord, fact: FactOf<'child_usage_reported'>): void {
    const { toolCallId, of, usage } = fact;
    const id = `child ${of.session} ${of.turn}.${of.attempt}`;
    const { provider, model, version } = of;
    const name = model ?? `Attempt ${of.attempt}`;
    const detail = `${of.agent}, turn ${of.turn}`;
    const parent = this.#executions.get(toolCallId) ?? parentIn(record);
    const fields = { name, detail, provider, model, version, child: of.session };
    this.#begin(record, id, 'attempt', parent, fields);
    this.#change(id, { usage });
    this.#end(record, id, {});
  }

  #beginApproval(record: LogRecord, fact: FactOf<'approval_asked'>): void {
    const { turn, attempt, offset } = record;
    const { toolCallId, name, reason: detail } = fact;
    // A repeated question for the same call replaces the earlier question.
    this.#endApproval(record, toolCallId, {});
    const id = `approval ${toolCallId} ${offset}`;
    const fields = { name: `Approval of ${name}`, detail, toolCallId, status: 'waiting' } as const;
    this.#begin(record, id, 'approval', parentIn(record), fields);
    this.#openInTurn.get(turn)?.delete(id);
    this.#approvals.set(toolCallId, { id, turn, attempt });
  }

  #endApproval(record: LogRecord, toolCallId: string, change: Change): void {
    const approval = this.#approvals.get(toolCallId);
    if (approval === undefined) return;
    this.#approvals.delete(toolCallId);
    this.#end(record, approval.id, change);
  }

  #reject(record: LogRecord, fact: FactOf<'tool_call_rejected'>): void {
    const { toolCallId, name, code, message } = fact;
    this.#endApproval(record, toolCallId, { detail: code });
    const id = `rejected ${toolCallId} ${record.offset}`;
    const isFault = code === 'invalid' || code === 'unknown';
    const fields = { name, detail: code, toolCallId, error: { code, message } };
    this.#begin(record, id, 'call', parentIn(record), fields);
    this.#end(record, id, { status: isFault ? 'error' : 'discarded' });
  }

  #supersede(record: LogRecord, reason: string): void {
    const { turn, attempt } = record;
    for (const [call, approval] of [...this.#approvals])
      if (approval.turn === turn && approval.attempt === attempt)
        this.#endApproval(record, call, {});
    const id = attemptId(record);
    this.#end(record, id, {});
    this.#change(id, { status: 'discarded', detail: `superseded: ${reason}` });
  }

  #retry(record: LogRecord, { error, delayMs }: FactOf<'retry_scheduled'>): void {
    if (record.attempt > 0) this.#change(attemptId(record), { error });
    const id = `retry ${record.offset}`;
    const name = `Retry in ${(delayMs / 1000).toFixed(1)} s`;
    const parent = record.turn > 0 ? turnId(record.turn) : this.#run;
    const fields = { name, detail: error.message, error, status: 'waiting' } as const;
    this.#begin(record, id, 'retry', parent, fields);
    this.#end({ ...record, time: record.time + delayMs }, id, {});
  }

  /** Returns the span id for traces. A run without a trace has no child spans. */
  #trace(idOf: (run: RunId) => string): Change {
    return this.#tracedRun === undefined ? {} : { traceSpanId: idOf(this.#tracedRun) };
  }

  #begin(
    record: LogRecord,
    id: string,
    kind: SpanKind,
    parentId: string | undefined,
    fields: Change,
  ): Span {
    const known = this.#spans.get(id);
    if (known !== undefined) return known;
    const { time: startTime, offset, turn, attempt } = record;
    const span: Span = {
      ...noSpan,
      id,
      kind,
      parentId,
      startTime,
      offset,
      turn,
      attempt,
      ...fields,
    };
    this.#set(span);
    if (kind === 'run' || kind === 'turn') return span;
    const open = this.#openInTurn.get(turn) ?? new Set();
    this.#openInTurn.set(turn, open.add(id));
    return span;
  }

  #end({ time, offset, turn }: LogRecord, id: string, change: Change): void {
    this.#openInTurn.get(turn)?.delete(id);
    const span = this.#spans.get(id);
    if (span === undefined || span.endTime !== undefined) return;
    this.#set({ ...span, endTime: Math.max(span.startTime, time), endOffset: offset, ...change });
  }

  #change(id: string, change: Change): void {
    const span = this.#spans.get(id);
    if (span !== undefined) this.#set({ ...span, ...change });
  }

  #set(span: Span): void {
    this.#spans.set(span.id, span);
    this.#listed = undefined;
  }
}

/** The initial fields of a span, before any data is known. */
const noSpan = {
  ...{ name: '', detail: undefined, isCut: false },
  status: 'ok',
  ...{ endTime: undefined, endOffset: undefined },
  ...{ firstContentTime: undefined, queuedTime: undefined },
  ...{ provider: undefined, model: undefined, version: undefined },
  ...{ usage: undefined, stop: undefined, error: undefined },
  ...{ runId: undefined, toolCallId: undefined, executionId: undefined, child: undefined },
  ...{ traceSpanId: undefined, traceId: undefined },
} as const;

const turnId = (turn: number) => `turn ${turn}`;
const attemptId = ({ turn, attempt }: Attempt) => `attempt ${turn}.${attempt}`;
const callId = (executionId: string) => `call ${executionId}`;

function parentIn(record: LogRecord): string | undefined {
  if (record.attempt > 0) return attemptId(record);
  return record.turn > 0 ? turnId(record.turn) : undefined;
}

/** Returns true if the delta contains content. A `begin` delta contains no content, only a name. */
export function isContent(delta: Delta | undefined): boolean {
  switch (delta?.type) {
    case 'append_text':
    case 'append_bytes':
    case 'replace_structured':
    case 'commit_part':
      return true;
    default:
      return false;
  }
}
