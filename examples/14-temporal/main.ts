// An agent whose runs are Temporal workflows: its turns and tools are activities, its words stream by the
// log to whoever watches the task, and history has what they came to. Run it with
//   npx node --conditions=@millrace/source examples/14-temporal/main.ts [path of the temporal program]
// Without a path it takes the server that `npm run test:setup` builds.
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoryLog } from '@millrace/log';
import { createServer, type Task } from '@millrace/server';
import { millracePlugin, workflowAgent } from '@millrace/temporal';
import { transcriptQuery } from '@millrace/temporal/workflow';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { rpc } from '../09-sync-agent/rpc.ts';
import { watch } from '../10-async-agent-auto-send/watch.ts';
import { miller } from './agent.ts';

const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
const path = process.argv[2] ?? join(cache, 'millrace', 'temporal-1.5.1');
if (spawnSync(path, ['--version']).status !== 0) {
  console.log(
    'There is no Temporal server here. Make one with npm run test:setup, or name its path.',
  );
  process.exit();
}

Runtime.install({ logger: new DefaultLogger('ERROR') });
const executable = { type: 'existing-path', path } as const;
const env = await TestWorkflowEnvironment.createLocal({ server: { executable } });
// In earnest, a store that servers and workers share: SQLite on one machine, Postgres on several.
const log = memoryLog();
const taskQueue = 'agents';

const worker = await Worker.create({
  ...{ connection: env.nativeConnection, taskQueue },
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  plugins: [millracePlugin({ agents: [miller(log)] })],
});

await worker.runUntil(async () => {
  const client = new Client({ connection: env.connection, plugins: [millracePlugin()] });
  const agent = workflowAgent({ client, log, taskQueue, name: 'miller' });
  const server = createServer({ log, agents: [{ type: 'loop', name: 'miller', agent }] });
  const { url } = await server.listen({ port: 0 });
  const [{ id }] = await rpc<Task>(`${url}/agents/name/miller`, 'task/create', {});
  const content = { type: 'text', author: 'user', content: 'How is the water?' };
  await rpc(`${url}/agents/name/miller`, 'event/send', { task_id: id, content });

  for await (const event of watch(`${url}/tasks/${id}/stream?view=events`)) {
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
