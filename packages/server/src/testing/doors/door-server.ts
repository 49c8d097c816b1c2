// This program serves the agent of the doors with files in a folder, and reports its address. Usage:
// door-server.ts <folder> keep|retry. A test kills the process at a cut.
import { join } from 'node:path';
import { sqliteLog } from '@millrace/log/sqlite';
import { sendToParent } from '../../../../log/src/testing/start-process.ts';
import { createServer } from '../../create-server.ts';
import { sqliteRows } from '../../rows/sqlite/sqlite-rows.ts';
import { doorAgent } from './door-agent.ts';

const [folder = '', onInterrupted = ''] = process.argv.slice(2);
const log = sqliteLog({ path: join(folder, 'log.db') });
const agent = doorAgent(log, onInterrupted === 'retry' ? 'retry' : 'keep');
const server = createServer({
  ...{ agents: [{ type: 'loop', name: 'helper', agent }], log, tokens: 'none' },
  rows: sqliteRows({ path: join(folder, 'rows.db') }),
});
sendToParent({ url: (await server.listen({ port: 0 })).url });
