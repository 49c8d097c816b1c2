import {
  type AgentEvent,
  addUsage,
  type LogRecord,
  noUsage,
  type SessionId,
  type Usage,
} from '@millrace/core';
import type { Observer } from '../contract/observer.ts';

export interface UsageTotals {
  /** Of all attempts together, superseded ones included. */
  readonly usage: Usage;
  readonly turns: number;
  /** Tries at a request. */
  readonly attempts: number;
  /** Of tools. */
  readonly executions: number;
  /** Errors that ended or repeated an attempt. That a tool failed is a result, and none of these. */
  readonly errors: number;
}

export interface UsageObserver {
  readonly observe: Observer;
  /** What was used since it began to listen. */
  totals(): UsageTotals;
}

/** Counts what runs use, of however many sessions: each attempt once, by the last word on it. */
export function usageObserver(): UsageObserver {
  const turns = new Set<string>();
  const attempts = new Set<string>();
  const lastUsage = new Map<string, Usage>();
  let executions = 0;
  let errors = 0;
  const observe = ({ fact, turn, attempt }: LogRecord, [event]: readonly AgentEvent[]): void => {
    if (fact === undefined || event === undefined) return;
    const key = attemptKey(event.session, turn, attempt);
    if (turn > 0) turns.add(attemptKey(event.session, turn, 0));
    switch (fact.type) {
      case 'response_started':
        attempts.add(key);
        return;
      case 'response_finished':
      case 'usage_reported':
        if (attempt > 0) attempts.add(key);
        lastUsage.set(key, fact.usage);
        return;
      case 'tool_execution_started':
        executions++;
        return;
      case 'retry_scheduled':
      case 'error_reported':
        errors++;
        return;
      default:
    }
  };
  const totals = (): UsageTotals => ({
    usage: [...lastUsage.values()].reduce(addUsage, noUsage),
    turns: turns.size,
    attempts: attempts.size,
    executions,
    errors,
  });
  return { observe, totals };
}

function attemptKey(session: SessionId, turn: number, attempt: number): string {
  return `${turn}.${attempt}.${session}`;
}
