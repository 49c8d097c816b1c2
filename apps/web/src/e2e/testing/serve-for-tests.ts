// Serves the page with data in a folder, for tests that kill and restart the process. Usage:
// serve-for-tests.ts <port> <page> <data>. The process sends its URL to the parent process and
// receives commands from it.
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sqliteLog } from '@millrace/log/sqlite';
import { createServer } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { demoTools } from '../../testing/demo-tools.ts';
import { controlledProvider, type ModelCommand } from './controlled-provider.ts';
import { hostileTool } from './hostile-tool.ts';

const [port = '0', page, data = '.', pauseMs = '8', token] = process.argv.slice(2);
let command: ModelCommand = 'go';
process.on('message', (next: ModelCommand) => {
  command = next;
});
// The process ends when the test that started it disconnects or ends.
process.on('disconnect', () => process.exit());

const log = sqliteLog({ path: join(data, 'log.db') });
const agent = createAgent({
  name: 'builder',
  provider: controlledProvider({ pauseMs: Number(pauseMs), command: () => command }),
  tools: [...demoTools(() => command === 'hold'), hostileTool],
  log,
  approve: ({ call: { name } }) =>
    name === 'write'
      ? { decision: 'ask', reason: 'It changes a file.', rule: 'write(notes/**)' }
      : 'allow',
  whileAsking: 'park',
});
const rows = sqliteRows({ path: join(data, 'rows.db') });
const description = 'Does what the first word of the message says';
const server = createServer({
  tokens: token === undefined ? 'none' : [token],
  agents: [{ type: 'loop', name: 'builder', description, agent }],
  ...{ log, rows, page, secret: 'only for tests, and the same after a restart' },
});
const { url } = await server.listen({ port: Number(port) });
process.send?.(url);
// The tests kill this process, so it cannot store its compiled code at its end. It stores the code
// now, for the next process.
flushCompileCache();
