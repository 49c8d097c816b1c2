import { addUsage, noUsage, type Usage } from '@millrace/core';
import type { TurnReport } from './turn-reports.ts';

/** What a session came to, all its turns together. */
export interface SessionTotals {
  readonly turns: number;
  readonly attempts: number;
  /** Attempts that do not count. */
  readonly retries: number;
  readonly executions: number;
  readonly failedExecutions: number;
  /** Of all attempts, those that do not count included. */
  readonly usage: Usage;
  /** How long models were waited for, tools worked (several at once count each), and people were asked. */
  readonly modelMs: number;
  readonly toolMs: number;
  readonly approvalMs: number;
}

export function sessionTotals(turns: readonly TurnReport[]): SessionTotals {
  const attempts = turns.flatMap((turn) => turn.attempts);
  const tools = turns.flatMap((turn) => turn.tools);
  return {
    turns: turns.length,
    attempts: attempts.length,
    retries: attempts.filter(({ superseded }) => superseded !== undefined).length,
    executions: tools.length,
    failedExecutions: tools.filter(({ isError }) => isError).length,
    usage: attempts.reduce((sum, { usage }) => (usage ? addUsage(sum, usage) : sum), noUsage),
    modelMs: sum(attempts.map(({ durationMs }) => durationMs)),
    toolMs: sum(tools.map(({ durationMs }) => durationMs)),
    approvalMs: sum(tools.map(({ approvalMs }) => approvalMs)),
  };
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
}
