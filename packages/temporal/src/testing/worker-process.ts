// A worker in a separate process that a test can kill or stop. Its model behaves as the configuration
// says.
import { writeSync } from 'node:fs';
import { createAgent, defineTool } from '@millrace/agent';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { manualProvider } from '../activities/manual-provider.ts';
import { millracePlugin } from '../plugin.ts';

export interface WorkerConfig {
  readonly address: string;
  readonly taskQueue: string;
  readonly file: string;
  /** The path of the workflow code. Undefined for a worker that only runs activities, one at a time. */
  readonly bundle: string | undefined;
  /**
   * The behavior of the model. `stalls`: it stops after half an answer. `babbles`: it never ends.
   * `whole`: it gives the whole answer. `looks`: it first calls a tool.
   */
  readonly behavior: 'stalls' | 'babbles' | 'whole' | 'looks';
}

const config = JSON.parse(process.argv[2] ?? '{}') as WorkerConfig;
const report = (message: string) => writeSync(1, `${JSON.stringify(message)}\n`);

const half = manualProvider(async (stream) => {
  stream.write('Half an answer');
  await new Promise<void>((resolve) => {
    const more = () => stream.write(' and on');
    const timer = config.behavior === 'babbles' ? setInterval(more, 20) : undefined;
    const leave = () => {
      clearInterval(timer);
      report('left');
      resolve();
    };
    stream.signal.addEventListener('abort', leave);
  });
});

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => {
    report('looking');
    return new Promise<string>(() => {});
  },
});
const call = {
  kind: 'tool_call',
  toolCallId: 'c1' as never,
  name: 'look',
  arguments: '{}',
} as const;
const scripts = { whole: ['A whole answer.'], looks: [{ content: { parts: [call] } }] };
const { behavior } = config;
const provider =
  behavior === 'whole' || behavior === 'looks'
    ? scriptedProvider(scripts[behavior])
    : half.provider;

// The handler runs when no transaction is open. A process that stops inside a transaction would lock the
// file for all others.
process.on('SIGUSR2', () => process.kill(process.pid, 'SIGSTOP'));

Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
const log = sqliteLog({ path: config.file });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: config.address }),
  taskQueue: config.taskQueue,
  ...(config.bundle === undefined
    ? { maxConcurrentActivityTaskExecutions: 1 }
    : { workflowBundle: { codePath: config.bundle } }),
  // Temporal soon gives the tasks of a dead worker to another worker.
  stickyQueueScheduleToStartTimeout: 500,
  plugins: [
    millracePlugin({
      hasWorkflows: config.bundle !== undefined,
      agents: [createAgent({ name: 'weather', provider, tools: [look], log })],
    }),
  ],
});
report('ready');
await worker.run();
