import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@millrace/client';
import type { Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { createServer, type TaskMessage } from '@millrace/server';
import { millracePlugin, workflowAgent } from '@millrace/temporal';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import {
  bundleWorkflowCode,
  DefaultLogger,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { afterAll, beforeAll } from 'vitest';
import { temporalServerPath } from '../../../../temporal/src/testing/temporal-server-path.ts';
import {
  hasTemporalServer,
  installRuntime,
  replayOptions,
} from '../../../../temporal/src/testing/use-temporal.ts';
import {
  type OpenaiAgentsPluginOptions,
  openaiAgentsPlugin,
} from '../../temporal/activities/index.ts';
import { summarize } from '../test-server.ts';

type ClientTask = Awaited<ReturnType<ReturnType<typeof createClient>['createTask']>>;
type WorkerParts = Omit<OpenaiAgentsPluginOptions, 'log'>;

/** A task of a server whose agent runs as a workflow, with a log in a file. */
interface ServedTask {
  readonly log: Log;
  readonly file: string;
  readonly taskQueue: string;
  readonly task: ClientTask;
  messages(): Promise<readonly string[]>;
  /** Runs a worker in this process during `work`. */
  withWorker<T>(parts: WorkerParts, work: () => Promise<T>): Promise<T>;
}

interface AgentsTestServer {
  client(): Client;
  address(): string;
  /** Returns the path of a file with the bundled workflows, for other processes. */
  bundle(): string;
  /** Replays the history of a workflow with the same code. Rejects if the code would act differently. */
  replay(workflowId: string): Promise<void>;
  served<T>(name: string, work: (stage: ServedTask) => Promise<T>): Promise<T>;
}

const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));

/** Bundles the workflow code from sources, as a user's worker would bundle the built package. */
function bundleWorkflows(log: Log): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    ...{ workflowsPath, plugins: [openaiAgentsPlugin({ log })] },
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: (config) => {
      const conditionNames = ['@millrace/source', '...'];
      return { ...config, resolve: { ...config.resolve, conditionNames } };
    },
  });
}

/** Starts a private Temporal server for the tests of a file. */
export function useAgents(): AgentsTestServer {
  let env: TestWorkflowEnvironment | undefined;
  let bundle: WorkflowBundleWithSourceMap | undefined;
  let folder = '';
  const required = <T>(value: T | undefined): T => {
    if (value !== undefined) return value;
    throw new Error(`There is no Temporal server at ${temporalServerPath}: run npm run test:setup`);
  };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-openai-agents-'));
    if (!hasTemporalServer)
      return console.log('Skipped the tests that need a Temporal server: run npm run test:setup');
    installRuntime();
    const executable = { type: 'existing-path', path: temporalServerPath } as const;
    env = await TestWorkflowEnvironment.createLocal({ server: { executable } });
    const log = sqliteLog({ path: join(folder, 'none.db') });
    bundle = await bundleWorkflows(log);
    await log.close();
    writeFileSync(join(folder, 'workflows.cjs'), bundle.code);
  });
  afterAll(async () => {
    await env?.teardown();
    rmSync(folder, { recursive: true, force: true });
  });
  const client = () =>
    new Client({ connection: required(env).connection, plugins: [millracePlugin()] });
  return {
    client,
    address: () => required(env).address,
    bundle: () => join(folder, 'workflows.cjs'),
    replay: async (workflowId) => {
      const history = await client().workflow.getHandle(workflowId).fetchHistory();
      const options = { workflowBundle: required(bundle), ...replayOptions };
      await Worker.runReplayHistory(options, history, workflowId);
    },
    served: async (name, work) => {
      const file = join(folder, `${name}.db`);
      const log = sqliteLog({ path: file });
      const agent = workflowAgent({ client: client(), log, name: 'weather', taskQueue: name });
      const agents = [{ type: 'loop', name: 'weather', agent }] as const;
      const server = createServer({ tokens: 'none', agents, log });
      const { url } = await server.listen({ port: 0 });
      const visitor = createClient({ url });
      const task = await visitor.createTask({ agent: 'weather' });
      const withWorker = async <T>(parts: WorkerParts, during: () => Promise<T>): Promise<T> => {
        const own = sqliteLog({ path: file });
        const worker = await Worker.create({
          ...{ connection: required(env).nativeConnection, taskQueue: name },
          ...{ workflowBundle: required(bundle), shutdownForceTime: 5_000 },
          plugins: [openaiAgentsPlugin({ ...parts, log: own })],
        });
        return worker.runUntil(during).finally(() => own.close());
      };
      const messages = async () => {
        const response = await fetch(`${url}/messages?task_id=${task.id}`);
        const all = (await response.json()) as readonly TaskMessage[];
        return all.map(({ content }) => summarize(content)).reverse();
      };
      try {
        return await work({ log, file, taskQueue: name, task, messages, withWorker });
      } finally {
        visitor.close();
        await server.close();
        await log.close();
      }
    },
  };
}
