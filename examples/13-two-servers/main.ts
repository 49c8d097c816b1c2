// Two servers on one store. A run that one of them drives is watched and approved through the other; then
// its driver is killed, and the other goes on with it. Run it with
//   npx node --conditions=@millrace/source examples/13-two-servers/main.ts
// or, on services that are there already:
//   STORE=postgres://user@host/db BUS=redis://host npx node …
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@millrace/client';

const folder = await mkdtemp(join(tmpdir(), 'two-servers-'));
const start = async () => {
  const child = fork(join(import.meta.dirname, 'server.ts'), {
    env: { ...process.env, FOLDER: folder },
  });
  const [url] = (await once(child, 'message')) as [string];
  return { child, client: createClient({ url }) };
};
const [a, b] = [await start(), await start()];

const task = await a.client.createTask({ agent: 'miller' });
await task.send('Grind some grain.'); // A drives from now on
const seen = b.client.task(task.id);
const { approvals } = await seen.until((now) => now.approvals.length > 0);
console.log('B hears that A asks about', approvals[0]?.name);

a.client.close();
a.child.kill('SIGKILL');
console.log('A is dead');
const [asked] = approvals;
if (asked !== undefined) await seen.approve(asked.toolCallId);
const done = await seen.until(({ items, isRunning }) => items.length > 3 && !isRunning);
for (const { kind, parts } of done.items)
  for (const part of parts) if (part.kind === 'text') console.log(`${kind}: ${part.text}`);

b.client.close();
b.child.disconnect();
await once(b.child, 'exit');
await rm(folder, { recursive: true });
