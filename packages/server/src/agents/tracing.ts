import { createHash } from 'node:crypto';
import type { Clock } from '@millrace/log';
import type { SpanService } from '../routes/service.ts';
import { isoTime } from '../tasks/iso-time.ts';
import type { Span, Tracing } from './handler-context.ts';

export interface TracingOptions {
  readonly taskId: string;
  readonly spans: SpanService;
  readonly clock: Clock;
  /** A text that was never there before. */
  readonly makeName: () => string;
}

/** All spans of a task are one trace, whoever makes them: its id follows from the task's. */
function traceIdOf(taskId: string): string {
  return hex(`trace ${taskId}`, 32);
}

/** Ids are those of W3C trace context, so that they can travel in a `traceparent` header. */
export function spanId(name: string): string {
  return hex(`span ${name}`, 16);
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

export function tracingOf({ taskId, spans, clock, makeName }: TracingOptions): Tracing {
  const traceId = traceIdOf(taskId);
  return {
    async span(name, { parent, input } = {}) {
      const parentId = typeof parent === 'string' ? parent : parent?.id;
      const { id } = await spans.create({
        ...{ id: spanId(`${taskId} ${makeName()}`), trace_id: traceId, name, task_id: taskId },
        start_time: isoTime(clock.now()),
        ...(parentId !== undefined && { parent_id: parentId }),
        ...(input !== undefined && { input }),
      });
      return spanOf({ id, traceId }, spans, clock);
    },
  };
}

function spanOf(
  { id, traceId }: { readonly id: string; readonly traceId: string },
  spans: SpanService,
  clock: Clock,
): Span {
  let hasEnded = false;
  const end: Span['end'] = ({ output, data } = {}) => {
    // The first end counts; what is said later is added all the same.
    const ended = hasEnded ? {} : { end_time: isoTime(clock.now()) };
    hasEnded = true;
    return spans.update(id, { ...ended, ...(output && { output }), ...(data && { data }) });
  };
  return {
    ...{ id, traceId, traceparent: `00-${traceId}-${id}-01`, end },
    async [Symbol.asyncDispose]() {
      if (!hasEnded) await end();
    },
  };
}
