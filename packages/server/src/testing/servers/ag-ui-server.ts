// This program serves an agent loop with files in a folder, and reports its address. Usage: ag-ui-server.ts
// <folder> keep|retry. The test kills the process in the middle of an answer.
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { sendToParent } from '../../../../log/src/testing/start-process.ts';
import { createServer } from '../../create-server.ts';
import { sqliteRows } from '../../rows/sqlite/sqlite-rows.ts';

const [folder = '', onInterrupted = ''] = process.argv.slice(2);
const log = sqliteLog({ path: join(folder, 'log.db') });
const text = Array.from({ length: 100_000 }, (_, n) => `word${n + 1} `).join('');
const provider = scriptedProvider([{ content: { parts: [text] }, pauseMs: 0, pieces: 'token' }]);
const agent = createAgent({
  ...{ provider, log, onInterrupted: onInterrupted === 'retry' ? 'retry' : 'keep' },
});
const server = createServer({
  ...{ agents: [{ type: 'loop', name: 'helper', agent }], log, tokens: 'none' },
  rows: sqliteRows({ path: join(folder, 'rows.db') }),
});
sendToParent({ url: (await server.listen({ port: 0 })).url });
