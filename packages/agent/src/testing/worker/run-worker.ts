import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { postgresLog } from '@millrace/log/postgres';
import { sqliteLog } from '@millrace/log/sqlite';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';
import { createAgent } from '../../create-agent.ts';
import { defineTool } from '../../tool/define-tool.ts';
import { createWorker } from '../../worker/create-worker.ts';
import { call } from '../model-script.ts';

// A process with one worker. It runs until SIGTERM, or until the test kills it. Each effect of a tool
// writes a line to a file. Usage: run-worker.ts <file or URL of the log> <lines>.
const [path = '', lines = ''] = process.argv.slice(2);

const effect = (name: string, afterCrash: 'repeat' | 'fail') =>
  defineTool({
    ...{ name, description: name, input: z.object({}), afterCrash },
    execute: async (_input, { idempotencyKey }) => {
      await sleep(30);
      appendFileSync(lines, `${name} ${idempotencyKey}\n`);
      await sleep(30);
      return `${name} done`;
    },
  });

/** The answer of the model: two calls in two turns, then a text. It depends only on the session. */
const reply: ScriptEntry = ({ items }) => {
  const results = items.filter(({ kind }) => kind === 'tool').length;
  if (results === 0) return { content: { parts: [call('c1', 'note', {})] } };
  if (results === 1) return { content: { parts: [call('c2', 'pay', {})] } };
  return 'All done.';
};

const log = path.startsWith('postgres:') ? postgresLog({ url: path }) : sqliteLog({ path });
const agent = createAgent({
  ...{ name: 'desk', log, tools: [effect('note', 'repeat'), effect('pay', 'fail')] },
  onInterrupted: 'retry',
  provider: scriptedProvider(
    Array.from({ length: 1000 }, () => reply),
    { pieces: 'token', pauseMs: 2 },
  ),
});
const worker = createWorker({ log, agents: [agent], concurrency: 4, pollMs: 50 });
process.once('SIGTERM', async () => {
  await worker.close();
  await log.close();
});
