// Starts two servers that share one store. Server A drives a run. A client watches the run and
// approves a call through server B. Then A is killed, and B continues the run. Run it with
//   npx node --conditions=@millrace/source examples/13-two-servers/main.ts
// or with existing services:
//   STORE=postgres://user@host/db BUS=redis://host npx node …
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@millrace/client';
import { createToken } from '@millrace/server';

const folder = await mkdtemp(join(tmpdir(), 'two-servers-'));
// All servers of a service use the same token.
const token = createToken();
const start = async () => {
  const child = fork(join(import.meta.dirname, 'server.ts'), {
    env: { ...process.env, FOLDER: folder, TOKEN: token },
  });
  const [url] = (await once(child, 'message')) as [string];
  return { child, client: createClient({ url, token }) };
};
const [a, b] = [await start(), await start()];

const task = await a.client.createTask({ agent: 'refunds' });
await task.send('Please refund order 17.'); // from now on, A drives the run
const viaB = b.client.task(task.id);
const { pendingApprovals } = await viaB.until((now) => now.pendingApprovals.length > 0);
console.log('B sees the approval request of A:', pendingApprovals[0]?.name);

a.client.close();
a.child.kill('SIGKILL');
console.log('A is killed');
const [approval] = pendingApprovals;
if (approval !== undefined) await viaB.approve(approval.toolCallId);
const done = await viaB.until(({ items, isRunning }) => items.length > 3 && !isRunning);
for (const { kind, parts } of done.items)
  for (const part of parts) if (part.kind === 'text') console.log(`${kind}: ${part.text}`);

b.client.close();
b.child.disconnect();
await once(b.child, 'exit');
await rm(folder, { recursive: true });
