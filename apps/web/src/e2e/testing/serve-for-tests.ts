// Serves the page on files of a folder, for a test that starts, kills and restarts it:
// serve-for-tests.ts <port> <page> <data>. It tells its parent where, and hears words from it.
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sqliteLog } from '@millrace/log/sqlite';
import { createServer } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { stageTools } from '../../testing/demo-tools.ts';
import { hostileTool } from './hostile-tool.ts';
import { toldProvider, type Word } from './scripted-provider.ts';

const [port = '0', page, data = '.', pauseMs = '8'] = process.argv.slice(2);
let word: Word = 'go';
process.on('message', (told: Word) => {
  word = told;
});
// A test that is gone leaves nothing behind.
process.on('disconnect', () => process.exit());

const log = sqliteLog({ path: join(data, 'log.db') });
const agent = createAgent({
  name: 'builder',
  provider: toldProvider({ pauseMs: Number(pauseMs), told: () => word }),
  tools: [...stageTools, hostileTool],
  log,
  approve: ({ call: { name } }) =>
    name === 'write'
      ? { decision: 'ask', reason: 'It changes a file.', rule: 'write(notes/**)' }
      : 'allow',
  whileAsking: 'park',
});
const rows = sqliteRows({ path: join(data, 'rows.db') });
const description = 'Does what the first word says';
const server = createServer({
  agents: [{ type: 'loop', name: 'builder', description, agent }],
  ...{ log, rows, page, secret: 'only for tests, and the same after a restart' },
});
const { url } = await server.listen({ port: Number(port) });
process.send?.(url);
