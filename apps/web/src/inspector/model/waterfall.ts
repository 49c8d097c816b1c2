import {
  type Attempt,
  type Fact,
  type LogRecord,
  parseTraceparent,
  type RunId,
  spanIdOf,
} from '@millrace/core';
import { type Bar, type BarKind, stopText, stopTone } from './bar.ts';
import { isContent } from './metrics.ts';

type Change = Partial<Omit<Bar, 'key' | 'kind' | 'depth' | 'start' | 'offset'>>;

/** Computes the bars of a session: runs, turns, attempts, tools, approvals and retries. */
export class Waterfall {
  /** The bars in the order of their start, so that each bar comes after its parent. */
  readonly #bars = new Map<string, Bar>();
  #runs = 0;
  /** The id of the current run. Undefined if the run belongs to no trace. */
  #tracedRun: RunId | undefined;
  /** The bars of open approvals. They stay open when their turn is parked. */
  readonly #openApprovals = new Map<string, { readonly key: string } & Attempt>();
  /** True if the run was stopped. Later tool errors are then a result of the stop. */
  #isStopped = false;
  /** The keys of the open bars of each turn. All of them end at the latest with the turn. */
  readonly #openInTurn = new Map<number, Set<string>>();

  get bars(): readonly Bar[] {
    return [...this.#bars.values()];
  }

  get size(): number {
    return this.#bars.size;
  }

  add(record: LogRecord): void {
    if (record.attempt > 0) this.#trackAttempt(record);
    if (record.fact !== undefined) this.#addFact(record, record.fact);
  }

  /**
   * Updates the bar of the record's attempt. Creates the bar if the agent does not report a model.
   */
  #trackAttempt(record: LogRecord): void {
    const { turn, attempt, delta, time } = record;
    const key = attemptKey(turn, attempt);
    const bar = this.#bars.get(key);
    if (bar === undefined)
      this.#begin(record, key, 'attempt', 2, {
        label: `Attempt ${attempt}`,
        ...this.#span((run) => spanIdOf.attempt(run, { turn, attempt })),
      });
    const known = this.#bars.get(key);
    if (isContent(delta) && known?.firstContentAt === undefined && known?.end === undefined)
      this.#change(key, { firstContentAt: time });
  }

  #addFact(record: LogRecord, fact: Fact): void {
    const { turn, attempt } = record;
    switch (fact.type) {
      case 'run_started':
        return this.#beginRun(record, fact);
      case 'run_finished':
        return this.#end(record, `run ${fact.runId}`, {
          detail: stopText(fact),
          tone: stopTone(fact),
        });
      case 'turn_started':
        return this.#begin(record, `turn ${turn}`, 'turn', 1, {
          label: `Turn ${turn}`,
          ...this.#span((run) => spanIdOf.turn(run, turn)),
        });
      case 'turn_finished':
        for (const key of this.#openInTurn.get(turn) ?? []) this.#end(record, key, {});
        this.#openInTurn.delete(turn);
        return this.#end(record, `turn ${turn}`, { detail: stopText(fact), tone: stopTone(fact) });
      case 'response_started':
        return this.#change(attemptKey(turn, attempt), {
          label: fact.model,
          detail: fact.provider,
        });
      case 'response_finished':
        return this.#end(record, attemptKey(turn, attempt), {
          detail: stopText(fact),
          tone: stopTone(fact),
        });
      case 'attempt_superseded':
        return this.#supersede(record, fact.reason);
      case 'retry_scheduled':
        return this.#retry(record, fact.delayMs, fact.error.message);
      default:
        return this.#addToolFact(record, fact);
    }
  }

  #beginRun(record: LogRecord, { runId, trace }: Extract<Fact, { type: 'run_started' }>): void {
    this.#runs++;
    this.#isStopped = false;
    this.#tracedRun = trace && runId;
    const traceId = trace && parseTraceparent(trace.traceparent)?.traceId;
    this.#begin(record, `run ${runId}`, 'run', 0, {
      ...{ label: `Run ${this.#runs}`, ...(traceId !== undefined && { traceId }) },
      ...this.#span(spanIdOf.run),
    });
  }

  /**
   * Returns the span id of a bar. Only traced runs get one, because other runs have no child spans.
   */
  #span(idOf: (run: RunId) => string): Pick<Bar, 'spanId'> {
    return this.#tracedRun === undefined ? {} : { spanId: idOf(this.#tracedRun) };
  }

  #addToolFact(record: LogRecord, fact: Fact): void {
    switch (fact.type) {
      case 'tool_execution_started': {
        const kind = fact.child === undefined ? 'tool' : 'agent';
        const detail = fact.summary === fact.name ? undefined : fact.summary;
        this.#endApproval(record, fact.toolCallId, {});
        const span = this.#span((run) => spanIdOf.execution(run, fact.executionId));
        const fields = { label: fact.name, detail, child: fact.child, ...span };
        return this.#begin(record, `tool ${fact.executionId}`, kind, 3, fields);
      }
      case 'tool_execution_finished': {
        const isLost = fact.outcome !== 'completed';
        const tone = isLost ? 'gone' : fact.isError && !this.#isStopped ? 'bad' : 'plain';
        return this.#end(record, `tool ${fact.executionId}`, { tone });
      }
      case 'approval_asked':
        return this.#beginApproval(record, fact);
      case 'approval_answered': {
        const detail = fact.decision === 'allow' ? 'allowed' : 'denied';
        return this.#endApproval(record, fact.toolCallId, { detail });
      }
      case 'tool_call_rejected':
        return this.#endApproval(record, fact.toolCallId, { detail: fact.code });
      case 'aborted':
        this.#isStopped = true;
        return;
      default:
        return;
    }
  }

  #beginApproval(record: LogRecord, fact: Extract<Fact, { type: 'approval_asked' }>): void {
    const { turn, attempt, offset } = record;
    const { toolCallId, name, reason: detail } = fact;
    // A repeated request for the same call replaces the earlier request.
    this.#endApproval(record, toolCallId, {});
    const key = `approval ${toolCallId} ${offset}`;
    const label = `Approval of ${name}`;
    this.#begin(record, key, 'approval', 3, { label, detail, tone: 'wait' });
    this.#openInTurn.get(turn)?.delete(key);
    this.#openApprovals.set(toolCallId, { key, turn, attempt });
  }

  #endApproval(record: LogRecord, toolCallId: string, change: Change): void {
    const openApprovals = this.#openApprovals.get(toolCallId);
    if (openApprovals === undefined) return;
    this.#openApprovals.delete(toolCallId);
    this.#end(record, openApprovals.key, change);
  }

  #supersede(record: LogRecord, reason: string): void {
    for (const [id, { turn, attempt }] of [...this.#openApprovals])
      if (turn === record.turn && attempt === record.attempt) this.#endApproval(record, id, {});
    const key = attemptKey(record.turn, record.attempt);
    const bar = this.#bars.get(key);
    if (bar === undefined) return;
    this.#end(record, key, {});
    this.#change(key, { tone: 'gone', detail: `superseded: ${reason}` });
  }

  #retry(record: LogRecord, delayMs: number, detail: string): void {
    const key = `retry ${record.offset}`;
    const label = `Retry in ${(delayMs / 1000).toFixed(1)} s`;
    this.#begin(record, key, 'retry', 2, { label, detail, tone: 'wait' });
    this.#end({ ...record, time: record.time + delayMs }, key, {});
  }

  #begin(record: LogRecord, key: string, kind: BarKind, depth: number, fields: Change): void {
    if (this.#bars.has(key)) return;
    const { time: start, offset, turn } = record;
    const none = {
      detail: undefined,
      firstContentAt: undefined,
      end: undefined,
      endOffset: undefined,
    };
    const bar: Bar = {
      ...{ key, kind, depth, start, offset, label: key, tone: 'plain', child: undefined },
      ...none,
      ...fields,
    };
    this.#bars.set(key, bar);
    if (depth < 2) return;
    const open = this.#openInTurn.get(turn) ?? new Set();
    this.#openInTurn.set(turn, open.add(key));
  }

  #end({ time, offset, turn }: LogRecord, key: string, change: Change): void {
    this.#openInTurn.get(turn)?.delete(key);
    const bar = this.#bars.get(key);
    if (bar === undefined || bar.end !== undefined) return;
    this.#change(key, { end: Math.max(bar.start, time), endOffset: offset, ...change });
  }

  #change(key: string, change: Change): void {
    const bar = this.#bars.get(key);
    if (bar !== undefined) this.#bars.set(key, { ...bar, ...change });
  }
}

const attemptKey = (turn: number, attempt: number) => `attempt ${turn}.${attempt}`;
