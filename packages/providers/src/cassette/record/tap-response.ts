import { type ByteController, closeBytes, isByteStream } from '../bytes/byte-stream.ts';
import type { Ending } from '../cassette.ts';
import { responseLike } from '../response-like.ts';
import type { Tape } from './tape.ts';

/** The same response, whose body is heard by the tape while its reader reads it. */
export function tapResponse(
  response: Response,
  tape: Tape,
  signal: AbortSignal | undefined,
): Response {
  const { body } = response;
  if (body === null) tape.end('end');
  else if (body.locked) tape.end('error', new Error('the body was being read by someone else'));
  else return responseLike(response, tapBody(body, tape, signal));
  return response;
}

/** One read here is one read there: nothing is fetched ahead of its reader, and nothing is held back. */
function tapBody(
  body: ReadableStream<Uint8Array>,
  tape: Tape,
  signal: AbortSignal | undefined,
): ReadableStream {
  const isBytes = isByteStream(body);
  const reader = body.getReader();
  let pulling = Promise.resolve();
  let isOver = false;

  function end(how: Ending, error?: unknown): void {
    isOver = true;
    tape.end(how, error);
  }

  /** Hears of the end at once and not at the next read, which may never come after an abort. */
  async function watch(controller: ByteController): Promise<void> {
    const failure = await reader.closed.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    // The last chunk may still be on its way.
    await pulling;
    if (isOver) return;
    if (failure === undefined) {
      end('end');
      closeBytes(controller);
    } else {
      end(signal?.aborted ? 'cancelled' : 'error', failure.error);
      controller.error(failure.error);
    }
  }

  async function readOnce(controller: ByteController): Promise<void> {
    // What a read fails with is what `watch` hears.
    const read = await reader.read().catch(() => undefined);
    if (read === undefined || read.done || isOver) return;
    tape.add(read.value);
    controller.enqueue(read.value);
  }

  const source = {
    start(controller: ByteController): void {
      void watch(controller);
    },
    pull(controller: ByteController): Promise<void> {
      pulling = readOnce(controller);
      return pulling;
    },
    cancel(reason: unknown): Promise<void> {
      end('cancelled');
      return reader.cancel(reason);
    },
  };
  return isBytes
    ? new ReadableStream({ ...source, type: 'bytes' })
    : new ReadableStream(source, { highWaterMark: 0 });
}
