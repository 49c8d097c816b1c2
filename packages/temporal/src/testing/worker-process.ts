// A worker in a process of its own, to be killed or stopped. Its model says what it was started with.
import { writeSync } from 'node:fs';
import { createAgent, defineTool } from '@millrace/agent';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { handFedProvider } from '../activities/manual-provider.ts';
import { millracePlugin } from '../plugin.ts';

export interface WorkerOrder {
  readonly address: string;
  readonly taskQueue: string;
  readonly file: string;
  /** The workflow code; none, where it is for activities alone, one at a time. */
  readonly bundle: string | undefined;
  /** `stalls` after half an answer; `babbles` on and on; says it `whole`; or `looks` first. */
  readonly does: 'stalls' | 'babbles' | 'whole' | 'looks';
}

const order = JSON.parse(process.argv[2] ?? '{}') as WorkerOrder;
const tell = (told: string) => writeSync(1, `${JSON.stringify(told)}\n`);

const half = handFedProvider(async (stream) => {
  stream.write('Half an answer');
  await new Promise<void>((resolve) => {
    const more = () => stream.write(' and on');
    const timer = order.does === 'babbles' ? setInterval(more, 20) : undefined;
    const leave = () => {
      clearInterval(timer);
      tell('left');
      resolve();
    };
    stream.signal.addEventListener('abort', leave);
  });
});

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => {
    tell('looking');
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
const { does } = order;
const provider =
  does === 'whole' || does === 'looks' ? scriptedProvider(scripts[does]) : half.provider;

// Here no transaction is open: one that is stopped inside of it would hold the file from everybody.
process.on('SIGUSR2', () => process.kill(process.pid, 'SIGSTOP'));

Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
const log = sqliteLog({ path: order.file });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: order.address }),
  taskQueue: order.taskQueue,
  ...(order.bundle === undefined
    ? { maxConcurrentActivityTaskExecutions: 1 }
    : { workflowBundle: { codePath: order.bundle } }),
  // What was dispatched to a dead worker goes to another one soon.
  stickyQueueScheduleToStartTimeout: 500,
  plugins: [
    millracePlugin({
      hasWorkflows: order.bundle !== undefined,
      agents: [createAgent({ name: 'miller', provider, tools: [look], log })],
    }),
  ],
});
tell('ready');
await worker.run();
