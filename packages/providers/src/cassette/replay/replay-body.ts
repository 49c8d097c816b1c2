import type { Clock } from '../../transport/clock.ts';
import { type BodyEnd, CassetteError, type RecordedResponse } from '../cassette.ts';
import { rebuildError } from '../recorded-error.ts';
import { type ByteController, closeBytes, macrotask } from '../web-platform.ts';

/** The recorded body, one chunk a read, each not before its moment. */
export function replayBody(
  { chunks }: RecordedResponse,
  end: BodyEnd,
  pace: Pace,
  signal: AbortSignal | undefined,
): ReadableStream {
  let next = 0;
  let takeBack = () => {};
  let onAbort = () => {};

  function stop(): void {
    takeBack();
    signal?.removeEventListener('abort', onAbort);
  }

  function deliver(controller: ByteController): void {
    const chunk = chunks[next++];
    // A copy, because a stream of bytes takes what it is given away.
    if (chunk !== undefined) return controller.enqueue(chunk.bytes.slice());
    stop();
    const error = errorAtEnd(end);
    if (error === undefined) closeBytes(controller);
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
        takeBack = pace(atMs, () => {
          deliver(controller);
          resolve();
        });
      });
    },
    cancel: stop,
  });
}

/** What ends it other than well: what broke it then, or that nobody knows how it would go on. */
export function errorAtEnd({ how, error, clipped }: BodyEnd): Error | undefined {
  if (clipped !== undefined) {
    const what = `${clipped.bytes} bytes in ${clipped.chunks} chunks`;
    return new CassetteError(
      'clipped',
      `Cannot replay further: ${what} more were over the recorder's limits; record it again with larger ones`,
    );
  }
  switch (how) {
    case 'end':
      return undefined;
    case 'error':
      return rebuildError(error ?? { name: 'Error', message: 'the recording has no error' });
    case 'cancelled':
      return new CassetteError(
        'cut',
        'Cannot replay further: the request was cancelled here when it was recorded; cancel it no later, or record it again',
      );
  }
}

/** `instant`: as fast as it is read, one macrotask a chunk; 2: in half of the time that it took. */
export type ReplaySpeed = number | 'instant';

/** Calls back when a moment of the recording has come; what it gives takes that back. */
export type Pace = (ms: number, run: () => void) => () => void;

/** The longest that a timer can wait. */
const maxDelayMs = 2 ** 31 - 1;

/** A pace that starts now. Moments are told from its start, so that delays do not add up. */
export function startPace(speed: ReplaySpeed, clock: Clock): Pace {
  if (speed === 'instant') return (_, run) => macrotask(run);
  const startedAt = clock.now();
  return (ms, run) => {
    const leftMs = startedAt + ms / speed - clock.now();
    if (leftMs > 0) return clock.after(Math.min(leftMs, maxDelayMs), run);
    run();
    return () => {};
  };
}
