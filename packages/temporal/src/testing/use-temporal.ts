import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { afterAll, beforeAll, test } from 'vitest';
import type { ActivitiesOptions } from '../activities/create-activities.ts';
import { millracePlugin } from '../plugin.ts';
import { temporalServerPath } from './temporal-server-path.ts';

interface TemporalStage {
  client(): Client;
  address(): string;
  bundle(): WorkflowBundleWithSourceMap;
  /** A file for a log that several processes share. */
  file(name: string): string;
  /** Runs a worker of this process while the work goes on: for workflow code alone, or for all. */
  withWorkflows<T>(taskQueue: string, work: () => Promise<T>): Promise<T>;
  withWorker<T>(options: WorkerStageOptions, work: () => Promise<T>): Promise<T>;
}

interface WorkerStageOptions extends ActivitiesOptions {
  readonly taskQueue: string;
  readonly activities?: object;
}

export const isTemporalThere: boolean = spawnSync(temporalServerPath, ['--version']).status === 0;

/** Without the server a test fails where all is required, else it is skipped and says how to get it. */
export const temporalTest: typeof test | typeof test.skip = (
  isTemporalThere || process.env['MILLRACE_REQUIRE_ALL'] === '1' ? test : test.skip
) as typeof test;

/** Workflow code, bundled as a worker would. */
export function bundleWorkflows(workflowsPath: string): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath,
    plugins: [millracePlugin()],
    logger: new DefaultLogger('WARN'),
  });
}

let isInstalled = false;

/** Once a process, however many files of tests it has. */
export function installRuntime(): void {
  if (!isInstalled) Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  isInstalled = true;
}

/** A private Temporal server for the tests of a file. */
export function useTemporal(workflowsPath: string): TemporalStage {
  let env: TestWorkflowEnvironment | undefined;
  let bundle: WorkflowBundleWithSourceMap | undefined;
  let folder = '';
  const there = <T>(value: T | undefined): T => {
    if (value !== undefined) return value;
    throw new Error(`There is no Temporal server at ${temporalServerPath}: npm run test:setup`);
  };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-temporal-'));
    if (!isTemporalThere)
      return console.log('skips what needs a Temporal server: npm run test:setup');
    installRuntime();
    const executable = { type: 'existing-path', path: temporalServerPath } as const;
    env = await TestWorkflowEnvironment.createLocal({ server: { executable } });
    bundle = await bundleWorkflows(workflowsPath);
  }, 120_000);
  afterAll(async () => {
    await env?.teardown();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    client: () => new Client({ connection: there(env).connection, plugins: [millracePlugin()] }),
    address: () => there(env).address,
    bundle: () => there(bundle),
    file: (name) => join(folder, name),
    withWorkflows: async (taskQueue, work) => {
      const connection = there(env).nativeConnection;
      const workflowBundle = there(bundle);
      return (await Worker.create({ connection, taskQueue, workflowBundle })).runUntil(work);
    },
    withWorker: async ({ taskQueue, activities, ...options }, work) => {
      const worker = await Worker.create({
        ...{ connection: there(env).nativeConnection, taskQueue },
        ...{ workflowBundle: there(bundle), ...(activities && { activities }) },
        plugins: [millracePlugin(options)],
        shutdownForceTime: 5_000,
      });
      return worker.runUntil(work);
    },
  };
}
