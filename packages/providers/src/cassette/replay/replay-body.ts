import { type ByteController, closeBytes } from '../bytes/byte-stream.ts';
import type { BodyEnd, RecordedResponse } from '../cassette.ts';
import { CassetteError } from '../cassette-error.ts';
import { rebuildError } from '../recorded-error.ts';
import type { Pace } from './pace.ts';

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
