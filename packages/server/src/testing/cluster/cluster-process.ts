// This program is one process of a cluster. Usage: cluster-process.ts server|worker <store> <bus> <file>
// <port>. A worker takes over waiting runs like a server, but does not listen. The parent process can set
// the clock.
import { randomIds } from '@millrace/core';
import { systemClock } from '@millrace/log';
import { messagesFromParent, sendToParent } from '../../../../log/src/testing/start-process.ts';
import { createServer } from '../../create-server.ts';
import { createTaskService } from '../../tasks/create-task-service.ts';
import type { ClusterOrder } from './cluster.ts';
import { clusterAgent } from './cluster-agent.ts';
import { openClusterStore } from './cluster-store.ts';

const [role = '', store = '', bus = '', doneFile = '', port = '0'] = process.argv.slice(2);
const { log, rows } = await openClusterStore(store, bus);
const agents = [clusterAgent(log, doneFile)];
const shared = { agents, log, rows, secret: 'the same for all of them' };
const onDiagnostic = (problem: string) => process.stderr.write(`note: ${problem}\n`);

if (role === 'server') {
  const server = createServer({ tokens: 'none', ...shared, onDiagnostic });
  sendToParent(await server.listen({ port: Number(port) }));
} else {
  const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  const service = createTaskService({ ...shared, clock: systemClock, ids, onDiagnostic });
  await service.start();
  sendToParent({ url: '' });
  // This timer keeps the process alive, because the timers of the service do not.
  setInterval(() => {}, 60_000);
}

const wallTime = Date.now.bind(Date);
for await (const { clockStepMs } of messagesFromParent<ClusterOrder>())
  Date.now = () => wallTime() + clockStepMs;
