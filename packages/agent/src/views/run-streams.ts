import type { AgentEvent, NewBytes } from '@millrace/core';
import { uiHeaders } from '@millrace/core/streams';
import type { Run, RunResult, UiStreamOptions } from '../contract/run.ts';
import { assertKnownOptions } from '../known-options.ts';
import { type RunEventSource, runEvents } from './run-views.ts';

/** The methods of `Run` that return streams. */
type RunStreams = Pick<Run, 'toReadableStream' | 'toEventStream' | 'toUIMessageStreamResponse'>;

/** Creates the streams of a run from its records on the log. */
export function runStreams(source: RunEventSource, result: Promise<RunResult>): RunStreams {
  return {
    toReadableStream: () => toStream((left) => runEvents({ ...source, left })),
    toEventStream: () => toStream((left) => eventFrames({ ...source, left }, result)),
    toUIMessageStreamResponse: (options) => uiResponse(source, result, options),
  };
}

/** The code of the frames loads on demand, because most programs do not use it. */
async function* eventFrames(
  source: RunEventSource,
  result: Promise<RunResult>,
): AsyncGenerator<NewBytes> {
  const encoder = new TextEncoder();
  const { errorFrame, eventFrame } = await import('./stream-frames.ts');
  let last: AgentEvent | undefined;
  for await (const event of runEvents(source)) {
    last = event;
    yield encoder.encode(eventFrame(event));
  }
  if (source.left?.aborted || last?.type === 'run_finished') return;
  // Without an end on the log, the run could not start, or another process has it now.
  const { session, error } = await result;
  if (error !== undefined) yield encoder.encode(errorFrame(session, error));
}

function uiResponse(
  source: RunEventSource,
  result: Promise<RunResult>,
  options: UiStreamOptions = {},
): Response {
  assertKnownOptions('toUIMessageStreamResponse', options, { messageId: true, headers: true });
  const { messageId, headers } = options;
  const encoder = new TextEncoder();
  const body = toStream(async function* (left) {
    // Loaded on demand, because most programs do not use it.
    const { uiMessageFrames } = await import('./stream-frames.ts');
    for await (const frame of uiMessageFrames({ ...source, left }, result, messageId))
      yield encoder.encode(frame);
  });
  return new Response(body, { headers: { ...headers, ...uiHeaders } });
}

/** A stream that takes the next value when its reader wants one. */
function toStream<T>(read: (left: AbortSignal) => AsyncGenerator<T>): ReadableStream<T> {
  const left = new AbortController();
  const values = read(left.signal);
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const next = await values.next();
        if (left.signal.aborted) return;
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel() {
        left.abort();
      },
    },
    { highWaterMark: 0 },
  );
}
