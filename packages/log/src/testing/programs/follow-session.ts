import { sessionId } from '@millrace/core';
import { sqliteLog } from '../../sqlite/sqlite-log.ts';
import { tell } from '../start-process.ts';

// A program that does nothing but follow a session to its end: follow-only.ts <file> <session>.
const [path = '', session = ''] = process.argv.slice(2);
const log = sqliteLog({ path });
let through = 0;
const batches = log.follow(sessionId(session), { until: 'closed' })[Symbol.asyncIterator]();
const first = batches.next();
tell({ type: 'follows' });
for (let next = await first; !next.done; next = await batches.next()) {
  through = next.value.through;
}
await log.close();
tell({ type: 'ended', through });
