import { createHash } from 'node:crypto';
import type { FinishedSpan, SpanExporter } from '@millrace/agent';
import {
  formatTraceparent,
  isSampled,
  parseTraceparent,
  type Stop,
  spanIdOf,
  type TraceContext,
  traceIdOf,
  underSpan,
} from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { Span, Tracing } from '../../contract/served-agent.ts';
import type { SpanService } from '../../contract/service.ts';
import type { AgentInfo, Task } from '../../contract/task.ts';
import type { JournalTurn } from '../../contract/task-journal.ts';
import { isoTime } from '../../stores/row-access.ts';
import type { RunnerOptions } from '../runner-options.ts';

interface TracingOptions {
  readonly taskId: string;
  /** The trace to which the handler's run belongs. */
  readonly trace?: TraceContext | undefined;
  readonly spans: SpanService;
  readonly exporter?: SpanExporter | undefined;
  readonly clock: Clock;
  /** Returns a unique text. A span id is derived from each text. */
  readonly makeName: () => string;
}

/** Derives a trace id from the task id. If the caller sent no trace, all spans of the task use this id. */
function taskTraceId(taskId: string): string {
  return hex(`trace ${taskId}`, 32);
}

/**
 * Derives a span id from a name. The id has the format of W3C Trace Context and fits into a `traceparent`
 * header.
 */
export function spanId(name: string): string {
  return hex(`span ${name}`, 16);
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

export function createTracing(options: TracingOptions): Tracing {
  const { taskId, trace, spans, clock, makeName } = options;
  const under = trace && parseTraceparent(trace.traceparent);
  const traceId = under?.traceId ?? taskTraceId(taskId);
  return {
    async span(name, { parent, input } = {}) {
      const parentId = (typeof parent === 'string' ? parent : parent?.id) ?? under?.spanId;
      const startMs = clock.now();
      const { id } = await spans.create({
        ...{ id: spanId(`${taskId} ${makeName()}`), trace_id: traceId, name, task_id: taskId },
        start_time: isoTime(startMs),
        ...(parentId !== undefined && { parent_id: parentId }),
        ...(input !== undefined && { input }),
      });
      return spanOf({ id, traceId, parentId, name, startMs, flags: under?.flags ?? 1 }, options);
    },
  };
}

interface StartedSpan {
  readonly id: string;
  readonly traceId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly startMs: number;
  readonly flags: number;
}

function spanOf(
  started: StartedSpan,
  { spans, clock, exporter, taskId, trace }: TracingOptions,
): Span {
  const { id, traceId, flags } = started;
  let hasEnded = false;
  const end: Span['end'] = ({ output, data } = {}) => {
    const endMs = clock.now();
    // The first call sets the end time. Later calls only add output and data.
    const endTime = hasEnded ? {} : { end_time: isoTime(endMs) };
    if (!hasEnded && isSampled(started)) exporter?.export(finishedSpan(started, endMs, taskId));
    hasEnded = true;
    return spans.update(id, { ...endTime, ...(output && { output }), ...(data && { data }) });
  };
  const traceparent = formatTraceparent({ traceId, spanId: id, flags });
  return {
    ...{ id, traceId, traceparent, trace: { ...trace, traceparent }, end },
    async [Symbol.asyncDispose]() {
      if (!hasEnded) await end();
    },
  };
}

/** Returns the span for the exporter. The span has no input and no output, because they may be private. */
function finishedSpan(started: StartedSpan, endMs: number, taskId: string): FinishedSpan {
  const { id, traceId, parentId, name, startMs } = started;
  return {
    ...{ traceId, spanId: id, parentSpanId: parentId, name, kind: 0 },
    ...{ startMs, endMs: Math.max(startMs, endMs) },
    attributes: { 'gen_ai.conversation.id': taskId },
  };
}

interface HandledRun {
  readonly task: Task;
  readonly agent: AgentInfo;
  readonly turn: JournalTurn;
  readonly startMs: number;
  readonly stop: Stop;
  readonly error?: { readonly code: string } | undefined;
}

const errorStatusCode = 2;

/**
 * Returns the trace that a handler adds to its own requests: the trace of the run, with the span of the run
 * as parent.
 */
export function traceOfRun({ trace, runId }: JournalTurn): TraceContext | undefined {
  return trace && underSpan(trace, spanIdOf.run(runId));
}

/** Exports a handler's run as a span. Runs of agent loops are exported by the loop's observer instead. */
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
    ...(error && { status: { code: errorStatusCode, message: error.code } }),
  });
}
