import type { Fact, LogRecord, Stop, Usage } from '@millrace/core';

/**
 * The times and tokens of one turn. The times are in milliseconds, from the clock of the process
 * that wrote the records.
 */
export interface TurnReport {
  readonly turn: number;
  readonly startedAt: number;
  /** The duration of the turn. Undefined while the turn runs, or if its process died. */
  readonly durationMs?: number;
  readonly stop?: Stop;
  readonly attempts: readonly AttemptReport[];
  readonly tools: readonly ToolReport[];
  /** The model requests of sub-agents during this turn. */
  readonly children: readonly ChildReport[];
}

/** One request of a sub-agent. */
interface ChildReport {
  readonly agent: string;
  /** The session of the sub-agent. */
  readonly session: string;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly usage: Usage;
}

/** One attempt at the request of a turn. */
export interface AttemptReport {
  readonly attempt: number;
  readonly provider: string;
  readonly model: string;
  /**
   * The time from the request to the first delta. Undefined if there was no delta, or if settling
   * removed the deltas.
   */
  readonly timeToFirstTokenMs?: number;
  readonly durationMs?: number;
  readonly usage?: Usage;
  readonly tokensPerSecond?: number;
  /**
   * The reason why the attempt was superseded. `retryDelayMs` is the delay before the next attempt.
   */
  readonly superseded?: string;
  readonly retryDelayMs?: number;
}

export interface ToolReport {
  readonly name: string;
  readonly summary: string;
  readonly durationMs?: number;
  readonly outcome?: 'completed' | 'discarded' | 'lost' | 'parked';
  readonly isError?: boolean;
  /** The time for which the call waited for approval. */
  readonly approvalMs?: number;
  /** The session of the sub-agent that the call ran. */
  readonly child?: string;
}

/** Builds the report of each turn from the records of a session. */
export async function turnReports(
  records: AsyncIterable<LogRecord>,
): Promise<readonly TurnReport[]> {
  const turns = new Map<number, TurnReportBuilder>();
  for await (const record of records) {
    if (record.turn === 0) continue;
    const known = turns.get(record.turn) ?? new TurnReportBuilder(record);
    turns.set(record.turn, known);
    known.add(record);
  }
  return [...turns.values()].map((clerk) => clerk.report());
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

interface OpenAttempt extends Writable<AttemptReport> {
  readonly startedAt: number;
  firstAt?: number;
}

interface OpenTool extends Writable<ToolReport> {
  readonly startedAt: number;
}

/** Collects the report of one turn. */
class TurnReportBuilder {
  readonly #turn: Writable<Omit<TurnReport, 'attempts' | 'tools' | 'children'>>;
  readonly #attempts = new Map<number, OpenAttempt>();
  readonly #tools = new Map<string, OpenTool>();
  /** The reports of sub-agents, by attempt. A later report replaces an earlier one. */
  readonly #children = new Map<string, ChildReport>();
  readonly #asked = new Map<string, number>();
  readonly #approvalMs = new Map<string, number>();

  constructor({ turn, time }: LogRecord) {
    this.#turn = { turn, startedAt: time };
  }

  add({ fact, delta, time, attempt }: LogRecord): void {
    const open = this.#attempts.get(attempt);
    // Tools also write deltas into this attempt, but only after the response. So the first delta
    // belongs to the response.
    if (delta !== undefined && open !== undefined) open.firstAt ??= time;
    if (fact !== undefined) this.#fact(fact, time, attempt);
  }

  report(): TurnReport {
    return {
      ...this.#turn,
      attempts: [...this.#attempts.values()].map(attemptReport),
      tools: [...this.#tools.values()].map(({ startedAt: _, ...tool }) => tool),
      children: [...this.#children.values()],
    };
  }

  #fact(fact: Fact, time: number, attempt: number): void {
    switch (fact.type) {
      case 'response_started': {
        const { provider, model } = fact;
        this.#attempts.set(attempt, { attempt, provider, model, startedAt: time });
        return;
      }
      case 'response_finished':
        return this.#end(attempt, time, { usage: fact.usage });
      case 'usage_reported':
        return this.#change(attempt, { usage: fact.usage });
      case 'attempt_superseded':
        return this.#end(attempt, time, { superseded: fact.reason });
      case 'retry_scheduled':
        return this.#change(attempt, { retryDelayMs: fact.delayMs });
      case 'turn_finished':
        this.#turn.durationMs = time - this.#turn.startedAt;
        this.#turn.stop = fact.stop;
        return;
      default:
        return this.#toolFact(fact, time);
    }
  }

  #toolFact(fact: Fact, time: number): void {
    switch (fact.type) {
      case 'approval_asked':
        this.#asked.set(fact.toolCallId, time);
        return;
      case 'approval_answered': {
        const since = this.#asked.get(fact.toolCallId) ?? time;
        this.#approvalMs.set(fact.toolCallId, time - since);
        return;
      }
      case 'tool_execution_started': {
        const { name, summary, executionId, child, toolCallId } = fact;
        const approvalMs = this.#approvalMs.get(toolCallId);
        this.#tools.set(executionId, {
          ...{ name, summary, startedAt: time },
          ...(child !== undefined && { child }),
          ...(approvalMs !== undefined && { approvalMs }),
        });
        return;
      }
      case 'child_usage_reported': {
        const { turn, attempt, ...of } = fact.of;
        const { usage } = fact;
        this.#children.set(`${turn}.${attempt} ${of.session}`, { ...of, usage });
        return;
      }
      case 'tool_execution_finished': {
        const tool = this.#tools.get(fact.executionId);
        if (tool === undefined) return;
        tool.durationMs = time - tool.startedAt;
        tool.outcome = fact.outcome;
        tool.isError = fact.isError;
        return;
      }
      default:
    }
  }

  #end(attempt: number, time: number, rest: Partial<AttemptReport>): void {
    const open = this.#attempts.get(attempt);
    if (open !== undefined) this.#change(attempt, { ...rest, durationMs: time - open.startedAt });
  }

  #change(attempt: number, changes: Partial<AttemptReport>): void {
    const open = this.#attempts.get(attempt);
    if (open !== undefined) Object.assign(open, changes);
  }
}

function attemptReport({ startedAt, firstAt, ...rest }: OpenAttempt): AttemptReport {
  const { durationMs, usage } = rest;
  if (firstAt === undefined) return rest;
  const timeToFirstTokenMs = firstAt - startedAt;
  const streamMs = (durationMs ?? 0) - timeToFirstTokenMs;
  const speed = usage !== undefined && streamMs > 0 ? (usage.output * 1000) / streamMs : undefined;
  const rounded = speed === undefined ? {} : { tokensPerSecond: Math.round(speed * 10) / 10 };
  return { ...rest, timeToFirstTokenMs, ...rounded };
}
