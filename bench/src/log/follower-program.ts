import { sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';

// Prints the time at which each batch arrives. The process that appended the batch reads these
// times.
const [path = '', session = ''] = process.argv.slice(2);
const log = sqliteLog({ path });
for await (const _ of log.follow(sessionId(session))) {
  process.stdout.write(`${performance.timeOrigin + performance.now()}\n`);
}
