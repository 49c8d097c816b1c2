import { join } from 'node:path';
import { sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { limitYoungGeneration } from '../../../apps/cli/src/serve/young-generation.ts';
import { fillSession } from './long-agent.ts';
import { startWordsServer } from './words-server.ts';

// Runs a server in a separate process, so that its costs do not contain those of a client. Its parent
// sends orders and receives a reply to each.

/** An order of the parent. */
export type Order =
  /** Adds records to a session. */
  | { readonly type: 'fill'; readonly session: string; readonly records: number }
  /** Drops what the process has in memory about a session. */
  | { readonly type: 'forget'; readonly session: string }
  | { readonly type: 'through'; readonly session: string }
  | { readonly type: 'usage' }
  | { readonly type: 'stop' };

/** What the process has used since its start. */
export interface ServerUsage {
  readonly cpuMs: number;
  readonly rssMb: number;
}

const [folder = ''] = process.argv.slice(2);
// `millrace serve` does the same.
limitYoungGeneration();
const log = sqliteLog({ path: join(folder, 'log.db') });
const server = await startWordsServer(folder, log);

async function obey(order: Order): Promise<unknown> {
  switch (order.type) {
    case 'fill':
      await fillSession(log, order.session, order.records);
      return true;
    case 'forget':
      sessionStates(log).forget(order.session);
      return true;
    case 'through':
      return (await log.info(order.session))?.through ?? 0;
    case 'usage':
      return usage();
    case 'stop':
      await server[Symbol.asyncDispose]();
      await log.close();
      return true;
  }
}

function usage(): ServerUsage {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000, rssMb: process.memoryUsage().rss / 2 ** 20 };
}

process.on('message', async (order: Order) => {
  process.send?.(await obey(order));
  if (order.type === 'stop') process.disconnect?.();
});
process.send?.(server.url);
