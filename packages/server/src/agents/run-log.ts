import type { Observer } from '@millrace/agent';
import type { LogRecord } from '@millrace/core';

/**
 * Receives events for the log of the operator: `retry`, `tool_failed` and `run_failed`. The fields have
 * codes, names and ids, and never content.
 */
export type LogEvent = (kind: string, fields: Readonly<Record<string, string | number>>) => void;

/** The run that an event belongs to. */
export interface LoggedRun {
  readonly task: string;
  readonly agent: string;
  readonly run: string;
}

/**
 * Returns an observer that logs the failures of a task's runs. It gets no deltas, so a streamed text costs
 * nothing. Failures of sub-agents are logged with the task that called them.
 */
export function runLogObserver(logEvent: LogEvent, task: string, agentName: string): Observer {
  /** The code of the last error of each run, until the run ends. */
  const codes = new Map<string, string>();
  const observe: Observer = (record, _events, observed) => {
    const run = observed?.id ?? '';
    const where = { task, agent: agentName, run };
    const { fact } = record;
    if (fact?.type === 'error_reported') codes.set(run, fact.error.code);
    if (fact?.type !== 'run_finished') return logFact(logEvent, where, record);
    const { reason, cause = '' } = fact.stop;
    const code = codes.get(run) ?? cause;
    codes.delete(run);
    if (reason === 'error' || reason === 'limit' || reason === 'blocked')
      logEvent('run_failed', { ...where, reason, ...(code !== '' && { code }) });
  };
  return Object.assign(observe, { ignoresDeltas: true });
}

function logFact(logEvent: LogEvent, where: LoggedRun, { fact, turn, attempt }: LogRecord): void {
  const at = { ...where, turn };
  switch (fact?.type) {
    case 'retry_scheduled': {
      const { error, delayMs } = fact;
      return logEvent('retry', { ...at, attempt, code: error.code, delayMs: Math.round(delayMs) });
    }
    case 'tool_execution_finished': {
      const { name: tool, toolCallId: call, isError, outcome } = fact;
      if (!isError && outcome !== 'lost') return;
      return logEvent('tool_failed', { ...at, tool, call, outcome });
    }
    default:
      return;
  }
}

interface HandlerFailure extends LoggedRun {
  readonly code: string;
  /** The value that the handler threw. Only its name and its stack are logged. */
  readonly cause: unknown;
}

/** Logs that the handler of a sync or async agent threw. */
export function logHandlerFailure(
  logEvent: LogEvent,
  { task, agent, run, code, cause }: HandlerFailure,
): void {
  const { name, stack = '' } = cause instanceof Error ? cause : { name: typeof cause };
  const at = stack.split('\n').find((line) => /^\s+at /.test(line));
  const place = at === undefined ? {} : { at: at.trim() };
  logEvent('run_failed', { task, agent, run, reason: 'error', code, name, ...place });
}
