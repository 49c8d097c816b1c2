import type { Clock } from '@millrace/log';
import { AbortRace, abandoned } from '../agents/abort-race.ts';
import type { HttpResponse } from '../contract/http.ts';
import { ServerError } from '../contract/server-error.ts';

interface LineOptions<T> {
  readonly context: LineContext;
  readonly line: (value: T) => string | Uint8Array;
  /** Returns the last line of a response that ends with an error. */
  readonly errorLine: (error: unknown) => string;
  /**
   * A text that is written at intervals, because proxies close silent connections. Default: none.
   */
  readonly heartbeat?: Heartbeat | undefined;
}

interface LineContext {
  readonly closing: AbortSignal;
  /** Waits until the client has read. */
  readonly drained: (response: HttpResponse) => Promise<void>;
  /** Returns a promise that resolves when the caller has read, if it has too many unread bytes. */
  readonly full: () => Promise<void> | undefined;
}

interface Heartbeat {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly text: string;
}

/**
 * Writes values to a response as they arrive. It waits while the client reads too slowly, and while the caller
 * has too many unread bytes in all its replies. If the client
 * disconnects, the writing stops, but the source continues its work.
 */
export async function writeLines<T>(
  response: HttpResponse,
  values: AsyncIterable<T>,
  { context, line, errorLine, heartbeat }: LineOptions<T>,
): Promise<void> {
  const { closing } = context;
  const iterator = values[Symbol.asyncIterator]();
  const stopped = new AbortController();
  using watch = new AbortRace(stopped.signal);
  const onEnd = () => stopped.abort();
  response.once('close', onEnd);
  closing.addEventListener('abort', onEnd, { once: true });
  if (closing.aborted || response.destroyed) onEnd();
  const stopHeartbeat = heartbeat && startHeartbeat(response, heartbeat);
  try {
    for (;;) {
      const next = await watch.raceAbort(iterator.next());
      if (next === abandoned) return endEarly(response, errorLine);
      if (next.done === true) return void response.end();
      for (let full = context.full(); full; full = context.full())
        if ((await watch.raceAbort(full)) === abandoned) return endEarly(response, errorLine);
      if (!response.write(line(next.value))) await watch.raceAbort(context.drained(response));
    }
  } catch (error) {
    if (!response.destroyed) response.end(errorLine(error));
  } finally {
    stopHeartbeat?.();
    response.off('close', onEnd);
    closing.removeEventListener('abort', onEnd);
    // The call of `return` is not awaited, because the source may never finish its current step.
    iterator.return?.().catch(() => {});
  }
}

/**
 * Writes heartbeats until the returned function is called. It writes no heartbeat while the client does not
 * read.
 */
function startHeartbeat(response: HttpResponse, { clock, everyMs, text }: Heartbeat): () => void {
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

/** Ends the response early, because the client disconnected or the server closes. */
function endEarly(response: HttpResponse, errorLine: LineOptions<never>['errorLine']): void {
  if (response.destroyed) return;
  const message =
    'Cannot send the rest: the server is closing. The task continues; request it again in a moment';
  response.end(errorLine(new ServerError('unavailable', message)));
}
