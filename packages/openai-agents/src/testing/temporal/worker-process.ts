// A worker in a process of its own, to be killed.
import { writeSync } from 'node:fs';
import { sqliteLog } from '@millrace/log/sqlite';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { openaiAgentsPlugin } from '../../temporal/activities/index.ts';

export interface WorkerOrder {
  readonly address: string;
  readonly taskQueue: string;
  readonly file: string;
  readonly bundle: string;
  readonly script: readonly Scripted[];
}

const order = JSON.parse(process.argv[2] ?? '{}') as WorkerOrder;
Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
const log = sqliteLog({ path: order.file });
const provider = scriptedProvider(order.script, { pieces: 'token' });
const tools = { weather: async ({ town }: { town: string }) => ({ town, sky: 'rain' }) };
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: order.address }),
  ...{ taskQueue: order.taskQueue, workflowBundle: { codePath: order.bundle } },
  plugins: [openaiAgentsPlugin({ log, provider, tools })],
});
writeSync(1, 'ready\n');
await worker.run();
