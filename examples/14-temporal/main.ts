// Runs an agent as a Temporal workflow. Its turns and tools are activities. Its output streams
// through the log to the clients of the task. The workflow history contains only the results. Run
// it with
//   npx node --conditions=@millrace/source examples/14-temporal/main.ts [path of the temporal binary]
// Without a path, it uses the server that `npm run test:setup` builds.
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoryLog } from '@millrace/log';
import { createServer, createToken, type Task } from '@millrace/server';
import { millracePlugin, workflowAgent } from '@millrace/temporal';
import { transcriptQuery } from '@millrace/temporal/workflow';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { rpc } from '../09-sync-agent/rpc.ts';
import { watch } from '../10-async-agent-auto-send/watch.ts';
import { waterAgent } from './agent.ts';

const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
const path = process.argv[2] ?? join(cache, 'millrace', 'temporal-1.5.1');
if (spawnSync(path, ['--version']).status !== 0) {
  console.log(
    'Cannot find a Temporal server. Build one with npm run test:setup, or pass the path of one.',
  );
  process.exit();
}

Runtime.install({ logger: new DefaultLogger('ERROR') });
const executable = { type: 'existing-path', path } as const;
const env = await TestWorkflowEnvironment.createLocal({ server: { executable } });
// In production, use a store that servers and workers share. Use SQLite on one machine, and
// Postgres on several machines.
const log = memoryLog();
const taskQueue = 'agents';

const worker = await Worker.create({
  ...{ connection: env.nativeConnection, taskQueue },
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  plugins: [millracePlugin({ agents: [waterAgent(log)] })],
});

await worker.runUntil(async () => {
  const client = new Client({ connection: env.connection, plugins: [millracePlugin()] });
  const agent = workflowAgent({ client, log, taskQueue, name: 'water' });
  const token = createToken();
  const agents = [{ type: 'loop', name: 'water', agent }] as const;
  const server = createServer({ log, agents, tokens: [token] });
  const { url } = await server.listen({ port: 0 });
  const address = { url: `${url}/agents/name/water`, token };
  const [{ id }] = await rpc<Task>(address, 'task/create', {});
  const content = { type: 'text', author: 'user', content: 'How is the water?' };
  await rpc(address, 'event/send', { task_id: id, content });

  for await (const event of watch(`${url}/tasks/${id}/stream?view=events`, token)) {
    if (event.type === 'assistant_text_delta') process.stdout.write(event.text ?? '');
    if (event.type === 'tool_execution_finished') process.stdout.write('[looked] ');
    if (event.type === 'run_finished') break;
  }
  const handle = client.workflow.getHandle(id);
  await handle.result();
  const { items } = await handle.query(transcriptQuery);
  const { events } = await handle.fetchHistory();
  const activities = events?.filter((event) => event.activityTaskScheduledEventAttributes) ?? [];
  console.log(`\nThe workflow ran ${activities.length} activities and knows ${items.length} items`);
  await server.close();
});
await env.teardown();
await log.close();
