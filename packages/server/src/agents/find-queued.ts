import { sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** Where a command with that key was put on a task's log; undefined where none was. */
export async function findQueued(
  log: Log,
  taskId: string,
  key: string,
): Promise<number | undefined> {
  const session = sessionId(taskId);
  if ((await log.info(session)) === undefined) return undefined;
  for (let from = 0; ; ) {
    const { records, through } = await log.read(session, { from });
    const queued = records.find(({ fact }) => fact?.type === 'command_queued' && fact.key === key);
    if (queued !== undefined) return queued.offset;
    if (through <= from) return undefined;
    from = through;
  }
}
