import type { Clock } from '../../transport/clock.ts';
import { type BodyEnd, CassetteError, type RecordedResponse } from '../cassette.ts';
import { rebuildError } from '../recorded-error.ts';
import { type ByteController, closeByteStream, scheduleMacrotask } from '../web-platform.ts';

/** Streams the recorded body. Each read returns one chunk, never earlier than its recorded time. */
export function replayBody(
  { chunks }: RecordedResponse,
  end: BodyEnd,
  schedule: ReplaySchedule,
  signal: AbortSignal | undefined,
): ReadableStream {
  let next = 0;
  let cancelTimer = () => {};
  let onAbort = () => {};

  function stop(): void {
    cancelTimer();
    signal?.removeEventListener('abort', onAbort);
  }

  function deliver(controller: ByteController): void {
    const chunk = chunks[next++];
    // The bytes are copied, because a byte stream transfers the buffer that it receives.
    if (chunk !== undefined) return controller.enqueue(chunk.bytes.slice());
    stop();
    const error = errorAtEnd(end);
    if (error === undefined) closeByteStream(controller);
    else controller.error(error);
  }

  return new ReadableStream({
    type: 'bytes',
    start(controller) {
      onAbort = () => {
        stop();
        controller.error(signal?.reason);
      };
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort);
    },
    pull(controller) {
      const { atMs } = chunks[next] ?? end;
      return new Promise<void>((resolve) => {
        cancelTimer = schedule(atMs, () => {
          deliver(controller);
          resolve();
        });
      });
    },
    cancel: stop,
  });
}

/**
 * Returns the error with which the replayed body ends, or undefined if the recorded body ended normally. If
 * the recording was cut or clipped, the body ends with an error, because the rest of the body is unknown.
 */
export function errorAtEnd({ how, error, clipped }: BodyEnd): Error | undefined {
  if (clipped !== undefined) {
    const what = `${clipped.bytes} bytes in ${clipped.chunks} chunks`;
    return new CassetteError(
      'clipped',
      `Cannot replay further: the recorder's limits dropped ${what}; record it again with larger limits`,
    );
  }
  switch (how) {
    case 'end':
      return undefined;
    case 'error':
      return rebuildError(
        error ?? { name: 'Error', message: 'The recording has no error details' },
      );
    case 'cancelled':
      return new CassetteError(
        'cut',
        'Cannot replay further: the recorded request was cancelled at this point; cancel no later than that, or record it again',
      );
  }
}

/**
 * The speed of a replay. `instant` replays as fast as the reader reads, with one macrotask per chunk. A
 * number is a factor: 2 replays in half the recorded time.
 */
export type ReplaySpeed = number | 'instant';

/**
 * Calls `run` at the given recorded time, in milliseconds. Returns a function that cancels the
 * call.
 */
export type ReplaySchedule = (ms: number, run: () => void) => () => void;

/** The longest delay that a timer supports, in milliseconds. */
const maxDelayMs = 2 ** 31 - 1;

/** Starts a schedule immediately. All times are relative to this start, so delays do not accumulate. */
export function startSchedule(speed: ReplaySpeed, clock: Clock): ReplaySchedule {
  if (speed === 'instant') return (_, run) => scheduleMacrotask(run);
  const startedAt = clock.now();
  return (ms, run) => {
    const leftMs = startedAt + ms / speed - clock.now();
    if (leftMs > 0) return clock.after(Math.min(leftMs, maxDelayMs), run);
    run();
    return () => {};
  };
}
