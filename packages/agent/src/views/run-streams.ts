import type { NewBytes } from '@millrace/core';
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
    toEventStream: () =>
      toByteStream((code, left) => code.eventFrames({ ...source, left }, result)),
    toUIMessageStreamResponse: (options) => uiResponse(source, result, options),
  };
}

function uiResponse(
  source: RunEventSource,
  result: Promise<RunResult>,
  options: UiStreamOptions = {},
): Response {
  assertKnownOptions('toUIMessageStreamResponse', options, {
    ...{ messageId: true, headers: true, onError: true },
  });
  const body = toByteStream((code, left) =>
    code.uiMessageFrames({ ...source, left }, result, options),
  );
  return new Response(body, { headers: { ...options.headers, ...uiHeaders } });
}

type FrameCode = typeof import('./stream-frames.ts');

/**
 * Returns a stream of encoded frames. The code that encodes frames loads on demand, because most programs do
 * not use it.
 */
function toByteStream(
  frames: (code: FrameCode, left: AbortSignal) => AsyncGenerator<string>,
): ReadableStream<NewBytes> {
  const encoder = new TextEncoder();
  return toStream(async function* (left) {
    for await (const frame of frames(await import('./stream-frames.ts'), left))
      yield encoder.encode(frame);
  });
}

/** Returns a stream that reads the next value only when its reader requests one. */
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
