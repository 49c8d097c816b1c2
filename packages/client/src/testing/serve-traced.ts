// This program serves an agent loop, sends its spans to a collector, and prints its address. It stores its
// data in a folder. Usage: serve-traced.ts <folder> <url of the model> <url of the collector>. Tests kill
// it in the middle of a turn.
import { join } from 'node:path';
import { createAgent, otlpExporter } from '@millrace/agent';
import { sqliteLog } from '@millrace/log/sqlite';
import { openaiChat } from '@millrace/providers';
import { createServer } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { sendToParent } from '../../../log/src/testing/start-process.ts';

const [folder = '', model = '', collector = ''] = process.argv.slice(2);

const log = sqliteLog({ path: join(folder, 'log.db') });
const agent = createAgent({
  ...{ name: 'miller', log, onInterrupted: 'retry' },
  provider: openaiChat({ model: 'gpt', apiKey: 'none', baseUrl: `${model}/v1` }),
});
const server = createServer({
  tokens: 'none',
  ...{ agents: [{ type: 'loop', name: 'miller', agent }], log },
  rows: sqliteRows({ path: join(folder, 'rows.db') }),
  exporter: otlpExporter({ url: collector, everyMs: 10 }),
});
sendToParent(await server.listen({ port: 0 }));
