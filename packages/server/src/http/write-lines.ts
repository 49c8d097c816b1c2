import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '@millrace/log';
import { AbortWatch, left } from '../agents/abort-race.ts';
import { ServerError } from '../contract/server-error.ts';

interface LineOptions<T> {
  readonly closing: AbortSignal;
  readonly line: (value: T) => string;
  /** The last line, where the values end in an error. */
  readonly errorLine: (error: unknown) => string;
  /** What is said where nothing else is, for those in between who hang up on silence. */
  readonly heartbeat?: Heartbeat | undefined;
}

interface Heartbeat {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly text: string;
}

/** Writes values as they come, no faster than they are read. Whoever leaves ends only this. */
export async function writeLines<T>(
  response: ServerResponse,
  values: AsyncIterable<T>,
  { closing, line, errorLine, heartbeat }: LineOptions<T>,
): Promise<void> {
  const iterator = values[Symbol.asyncIterator]();
  const over = new AbortController();
  using watch = new AbortWatch(over.signal);
  const onEnd = () => over.abort();
  response.once('close', onEnd);
  closing.addEventListener('abort', onEnd, { once: true });
  if (closing.aborted || response.destroyed) onEnd();
  const stopBeating = heartbeat && startHeartbeat(response, heartbeat);
  try {
    for (;;) {
      const next = await watch.unlessAborted(iterator.next());
      if (next === left) return endEarly(response, errorLine);
      if (next.done === true) return void response.end();
      if (!response.write(line(next.value))) await watch.unlessAborted(drained(response));
    }
  } catch (error) {
    if (!response.destroyed) response.end(errorLine(error));
  } finally {
    stopBeating?.();
    response.off('close', onEnd);
    closing.removeEventListener('abort', onEnd);
    // It may wait for a value that never comes; nobody waits for it.
    iterator.return?.().catch(() => {});
  }
}

/** Until it is stopped. Who does not read what there is is not told that there is nothing. */
function startHeartbeat(response: ServerResponse, { clock, everyMs, text }: Heartbeat): () => void {
  let stop = () => {};
  const next = () => {
    if (!response.writableNeedDrain) response.write(text);
    wait();
  };
  const wait = () => {
    stop = clock.after(everyMs, next, { isIdle: true });
  };
  wait();
  return () => stop();
}

/** Either the reader left, or the server is about to. */
function endEarly(response: ServerResponse, errorLine: LineOptions<never>['errorLine']): void {
  if (response.destroyed) return;
  const message = 'Cannot tell the rest: the server closes. The task has it; ask again in a moment';
  response.end(errorLine(new ServerError('unavailable', message)));
}

async function drained(response: ServerResponse): Promise<void> {
  await once(response, 'drain');
}
