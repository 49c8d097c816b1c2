import {
  isSampled,
  parseTraceparent,
  type Stop,
  spanIdOf,
  type TraceContext,
  traceIdOf,
  underSpan,
} from '@millrace/core';
import type { AgentInfo, Task } from '../contract/task.ts';
import type { JournalTurn } from '../contract/task-journal.ts';
import type { RunnerOptions } from './runner-options.ts';

interface HandledRun {
  readonly task: Task;
  readonly agent: AgentInfo;
  readonly turn: JournalTurn;
  readonly startMs: number;
  readonly stop: Stop;
  readonly error?: { readonly code: string } | undefined;
}

const failed = 2;

/** What a handler gets: the run's trace, under the span that the run is. */
export function traceOfRun({ trace, runId }: JournalTurn): TraceContext | undefined {
  return trace && underSpan(trace, spanIdOf.run(runId));
}

/** A handler's run as a span: what an agent loop's observer makes of a run, for agents that have none. */
export function exportRun(
  { exporter, clock }: Pick<RunnerOptions, 'exporter' | 'clock'>,
  { task, agent, turn, startMs, stop, error }: HandledRun,
): void {
  const parent = turn.trace && parseTraceparent(turn.trace.traceparent);
  if (exporter === undefined || (parent && !isSampled(parent))) return;
  exporter.export({
    ...{ traceId: parent?.traceId ?? traceIdOf(turn.runId), spanId: spanIdOf.run(turn.runId) },
    ...{ parentSpanId: parent?.spanId, name: `invoke_agent ${agent.name}`, kind: 0 },
    ...{ startMs, endMs: Math.max(startMs, clock.now()) },
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent.name,
      'gen_ai.conversation.id': task.id,
      'millrace.run.id': turn.runId,
      'millrace.stop.reason': stop.reason,
      ...(error && { 'error.type': error.code }),
    },
    ...(error && { status: { code: failed, message: error.code } }),
  });
}
