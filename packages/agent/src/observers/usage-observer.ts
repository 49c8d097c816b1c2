import {
  type AgentEvent,
  addUsage,
  type LogRecord,
  noUsage,
  type SessionId,
  type Usage,
} from '@millrace/core';
import type { Observer } from '../contract/observer.ts';

/** The totals of `usageObserver`. */
export interface UsageTotals {
  /** Usage of all attempts, including failed attempts that were repeated and the attempts of sub-agents. */
  readonly usage: Usage;
  /** Number of turns. */
  readonly turns: number;
  /** Number of model requests. */
  readonly attempts: number;
  /** Number of tool executions. */
  readonly executions: number;
  /** Number of errors that ended an attempt or led to a retry. Failed tools are not counted. */
  readonly errors: number;
}

/** An observer that counts usage. */
export interface UsageObserver {
  /** The observer function. Pass it to `observers`. */
  readonly observe: Observer;
  /** Returns the totals since the observer was created. */
  totals(): UsageTotals;
}

/**
 * Creates an observer that counts usage over any number of sessions. Each attempt counts once, with the usage
 * that it reported last.
 */
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
      case 'child_usage_reported': {
        // The observer may also get the records of the sub-agent's own session. Both reports have the same
        // key, so the usage counts only once.
        const { session, turn: ofTurn, attempt: tried } = fact.of;
        lastUsage.set(attemptKey(session, ofTurn, tried), fact.usage);
        return;
      }
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
