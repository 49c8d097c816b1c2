import { itemId, sessionId } from '@millrace/core';
import type { Log } from '../../contract/log.ts';
import { sqliteLog } from '../../sqlite/sqlite-log.ts';
import type { CommitPoint } from '../../storage/record-store.ts';

// This program runs one operation on a log and kills itself at a commit point. Usage: rewrite-and-crash.ts
// <file> <operation> <point> [which]. `which` is the number of times that the point is reached. Default: 1.
const session = sessionId('s');

export const rewrites = {
  settle: (log: Log) => log.settle(session, 1),
  redact: (log: Log) => log.redact(session, itemId('picture')),
  fork: (log: Log) => log.fork(session, { into: sessionId('fork'), through: 4 }),
  'fork a long session': (log: Log) =>
    log.fork(sessionId('long'), { into: sessionId('fork'), through: 36 }),
  delete: (log: Log) => log.delete(session),
  restore: async (log: Log) => {
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    return log.restore(sessionId('restored'), records);
  },
  'put a blob': (log: Log) => log.blobs.put(Uint8Array.of(9)),
} satisfies Readonly<Record<string, (log: Log) => Promise<unknown>>>;

export type Rewrite = keyof typeof rewrites;

const [path, what, point, which] = process.argv.slice(2) as [
  string?,
  Rewrite?,
  CommitPoint?,
  string?,
];
if (path !== undefined && what !== undefined) {
  let left = Number(which ?? 1);
  const onPoint = (reached: CommitPoint) => {
    if (reached === point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
  await rewrites[what](sqliteLog({ path, onPoint }));
}
