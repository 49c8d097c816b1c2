// A worker in a separate process that a test can kill.
import { writeSync } from 'node:fs';
import { sqliteLog } from '@millrace/log/sqlite';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { openaiAgentsPlugin } from '../../temporal/activities/index.ts';

export interface WorkerConfig {
  readonly address: string;
  readonly taskQueue: string;
  readonly file: string;
  readonly bundle: string;
  readonly script: readonly ScriptEntry[];
}

const config = JSON.parse(process.argv[2] ?? '{}') as WorkerConfig;
Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
const log = sqliteLog({ path: config.file });
const provider = scriptedProvider(config.script, { pieces: 'token' });
const tools = { weather: async ({ town }: { town: string }) => ({ town, sky: 'rain' }) };
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: config.address }),
  ...{ taskQueue: config.taskQueue, workflowBundle: { codePath: config.bundle } },
  plugins: [openaiAgentsPlugin({ log, provider, tools })],
});
writeSync(1, 'ready\n');
await worker.run();
