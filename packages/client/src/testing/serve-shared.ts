// This program serves an agent loop on a store that several processes share. Usage: serve-shared.ts <folder
// or Postgres URL>. A line on the standard input closes the server. The process ends when everything is
// stored.
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import type { Log } from '@millrace/log';
import { postgresLog } from '@millrace/log/postgres';
import { sqliteLog } from '@millrace/log/sqlite';
import { createProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type Rows } from '@millrace/server';
import { postgresRows } from '@millrace/server/postgres';
import { sqliteRows } from '@millrace/server/sqlite';
import { messagesFromParent, sendToParent } from '../../../log/src/testing/start-process.ts';

const [store = ''] = process.argv.slice(2);

/** The answer takes some seconds, so that a test can stop the process in the middle of it. */
const answer = Array.from({ length: 300 }, (_, n) => `word${n + 1}`).join(' ');

const { log, rows } = await openStore();
/** The provider has no state, so any process can answer any request. */
const provider = createProvider('speaker', 'speaker', (request, context) =>
  scriptedProvider([answer], { pieces: 'token', pauseMs: 10 }).stream(request, context),
);
const agent = createAgent({ provider, log, onInterrupted: 'retry' });
const server = createServer({
  ...{ tokens: 'none', log, rows, secret: 'the same for all servers of the store' },
  agents: [{ type: 'loop', name: 'speaker', agent }],
});
sendToParent(await server.listen({ port: 0 }));
for await (const _order of messagesFromParent()) break;
await server.close();
await log.close();
await rows.close();
// The process must be ended explicitly, because the standard input is still open.
process.exit();

async function openStore(): Promise<{ readonly log: Log; readonly rows: Rows }> {
  if (store.startsWith('postgres:'))
    return { log: postgresLog({ url: store }), rows: await postgresRows({ url: store }) };
  return {
    log: sqliteLog({ path: join(store, 'log.db') }),
    rows: sqliteRows({ path: join(store, 'rows.db') }),
  };
}
