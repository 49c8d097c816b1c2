import { sessionId } from '@millrace/core';
import { postgresLog } from '../../postgres/postgres-log.ts';
import type { CommitPoint } from '../../storage/record-store.ts';
import { sendToParent } from '../start-process.ts';

// This program continues a session. It kills or stops itself at a commit point. Usage: write-and-crash.ts
// <url> <schema> <point> <times> <signal>.
const [url = '', schema = '', point = '', times = '1', signal = 'SIGKILL'] = process.argv.slice(2);
let left = Number(times);
let isArmed = false;
const onPoint = (reached: CommitPoint) => {
  if (!isArmed || reached !== point || --left !== 0) return;
  sendToParent({ reached });
  process.kill(process.pid, signal);
};
const log = postgresLog({ url, schema, commitIntervalMs: 0, onPoint });
const driver = await log.open(sessionId('s'));
const { records } = await driver.append([]);
const last = records.findLast(({ fact }) => fact?.type === 'handed_off')?.fact;
let next = last?.type === 'handed_off' ? Number(last.to) + 1 : 0;
isArmed = true;
for (;;) {
  const to = String(next++);
  await driver.append([{ turn: 0, attempt: 0, fact: { type: 'handed_off', to } }]);
  sendToParent({ to });
}
