import { sessionId } from '@millrace/core';
import { sqliteLog } from '../../sqlite/sqlite-log.ts';
import { sendToParent } from '../start-process.ts';

// This program follows a session to its end and does nothing else. Usage: follow-session.ts <file>
// <session>.
const [path = '', session = ''] = process.argv.slice(2);
const log = sqliteLog({ path });
let through = 0;
const batches = log.follow(sessionId(session), { until: 'closed' })[Symbol.asyncIterator]();
const first = batches.next();
sendToParent({ type: 'follows' });
for (let next = await first; !next.done; next = await batches.next()) {
  through = next.value.through;
}
await log.close();
sendToParent({ type: 'ended', through });
