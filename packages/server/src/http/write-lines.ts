import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { left, unlessAborted } from '../agents/unless-aborted.ts';
import { ServerError } from './server-error.ts';

export interface LineOptions<T> {
  readonly closing: AbortSignal;
  readonly line: (value: T) => string;
  /** The last line, where the values end in an error. */
  readonly errorLine: (error: unknown) => string;
}

/** Writes values as they come, no faster than they are read. Whoever leaves ends only this. */
export async function writeLines<T>(
  response: ServerResponse,
  values: AsyncIterable<T>,
  { closing, line, errorLine }: LineOptions<T>,
): Promise<void> {
  const iterator = values[Symbol.asyncIterator]();
  const over = new AbortController();
  const onEnd = () => over.abort();
  response.once('close', onEnd);
  closing.addEventListener('abort', onEnd, { once: true });
  if (closing.aborted || response.destroyed) onEnd();
  try {
    for (;;) {
      const next = await unlessAborted(iterator.next(), over.signal);
      if (next === left) return finish(response, errorLine);
      if (next.done === true) return void response.end();
      if (!response.write(line(next.value))) await unlessAborted(drained(response), over.signal);
    }
  } catch (error) {
    if (!response.destroyed) response.end(errorLine(error));
  } finally {
    response.off('close', onEnd);
    closing.removeEventListener('abort', onEnd);
    // It may wait for a value that never comes; nobody waits for it.
    iterator.return?.().catch(() => {});
  }
}

/** Either the reader left, or the server is about to. */
function finish(response: ServerResponse, errorLine: LineOptions<never>['errorLine']): void {
  if (response.destroyed) return;
  const message = 'Cannot tell the rest: the server closes. The task has it; ask again in a moment';
  response.end(errorLine(new ServerError('unavailable', message)));
}

async function drained(response: ServerResponse): Promise<void> {
  await once(response, 'drain');
}
