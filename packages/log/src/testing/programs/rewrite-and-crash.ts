import { itemId, sessionId } from '@millrace/core';
import type { Log } from '../../contract/log.ts';
import { sqliteLog } from '../../sqlite/sqlite-log.ts';
import type { CommitPoint } from '../../storage/record-store.ts';

// This program runs one operation on a log and kills itself at a commit point. Usage: rewrite-and-crash.ts
// <file> <operation> <point>.
const session = sessionId('s');

export const rewrites = {
  settle: (log: Log) => log.settle(session, 1),
  redact: (log: Log) => log.redact(session, itemId('picture')),
  fork: (log: Log) => log.fork(session, { into: sessionId('fork'), through: 4 }),
  delete: (log: Log) => log.delete(session),
  restore: async (log: Log) => {
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    return log.restore(sessionId('restored'), records);
  },
  'put a blob': (log: Log) => log.blobs.put(Uint8Array.of(9)),
} satisfies Readonly<Record<string, (log: Log) => Promise<unknown>>>;

export type Rewrite = keyof typeof rewrites;

const [path, what, point] = process.argv.slice(2) as [string?, Rewrite?, CommitPoint?];
if (path !== undefined && what !== undefined) {
  const onPoint = (reached: CommitPoint) => {
    if (reached === point) process.kill(process.pid, 'SIGKILL');
  };
  await rewrites[what](sqliteLog({ path, onPoint }));
}
