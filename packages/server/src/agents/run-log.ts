import type { Observer } from '@millrace/agent';
import { isMillraceError, type LogRecord } from '@millrace/core';
import { errorReason } from '../contract/server-error.ts';

/**
 * Writes an event to the operator's log. The kind is `retry`, `tool_failed` or `run_failed`. The fields
 * contain codes, names and ids, and never content.
 */
export type LogEvent = (kind: string, fields: Readonly<Record<string, string | number>>) => void;

/** The run to which an event belongs. */
export interface LoggedRun {
  readonly task: string;
  readonly agent: string;
  readonly run: string;
}

/**
 * Returns an observer that logs the failures of a task's runs. It ignores deltas, so streamed text costs no
 * time. A failure of a sub-agent is logged with the task that called the sub-agent.
 */
export function runLogObserver(logEvent: LogEvent, task: string, agentName: string): Observer {
  /** Maps the id of each active run to the code of its last error. */
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

interface FailureReceivers {
  readonly logEvent?: LogEvent | undefined;
  readonly onDiagnostic: (problem: string) => void;
}

interface HandlerFailure extends LoggedRun {
  readonly code: string;
  /** The value that the handler threw. The log of requests gets only its name and the place in the code. */
  readonly cause: unknown;
}

/** Reports an error that the handler of a sync or async agent threw. Only `onDiagnostic` gets its message. */
export function reportHandlerFailure(
  { logEvent, onDiagnostic }: FailureReceivers,
  { task, agent, run, code, cause }: HandlerFailure,
): void {
  // Clients get the messages of these errors.
  if (!isMillraceError(cause))
    onDiagnostic(`Task ${task}: the handler of ${agent} threw: ${errorReason(cause)}`);
  const { name, stack = '' } = cause instanceof Error ? cause : { name: typeof cause };
  const at = stack.split('\n').find((line) => /^\s+at /.test(line));
  const place = at === undefined ? {} : { at: at.trim() };
  logEvent?.('run_failed', { task, agent, run, reason: 'error', code, name, ...place });
}
