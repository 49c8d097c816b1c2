// This program serves an agent that streams without end, and prints its address. It stores its data in a
// folder. Usage: serve-in-process.ts <folder> <port>. Tests kill it in the middle of an answer.
import { join } from 'node:path';
import { sqliteLog } from '@millrace/log/sqlite';
import { createServer, type ServedAgent } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { sendToParent } from '../../../log/src/testing/start-process.ts';

const [folder = '', port = '0'] = process.argv.slice(2);

const speaker: ServedAgent = {
  ...{ type: 'sync', name: 'speaker' },
  async *onMessage(_content, { signal }) {
    for (let word = 1; !signal.aborted; word++) {
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta: `word${word} ` } };
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  },
};

const log = sqliteLog({ path: join(folder, 'log.db') });
const rows = sqliteRows({ path: join(folder, 'rows.db') });
const server = createServer({ tokens: 'none', agents: [speaker], log, rows });
sendToParent(await server.listen({ port: Number(port) }));
