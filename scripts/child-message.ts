import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Returns the first message of a child process. Rejects if the process cannot start, or exits
 * without a message. Otherwise the caller would wait forever.
 */
export async function firstMessage<T>(child: ChildProcess): Promise<T> {
  const stopWaiting = new AbortController();
  const { signal } = stopWaiting;
  // `close` always follows the last message. `exit` can come before it.
  const exited = once(child, 'close', { signal }).then(([code, killedBy]) => {
    const how = killedBy === null ? `the exit code ${code}` : `the signal ${killedBy}`;
    throw new Error(`Cannot read a message: ${child.spawnfile} ended with ${how}. See its output`);
  });
  exited.catch(() => {});
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), exited])) as [T];
    return message;
  } finally {
    stopWaiting.abort();
  }
}
