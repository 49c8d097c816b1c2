import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
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
import { sharedFolder } from '../../../../scripts/process-folder.ts';
import { isFull } from '../../../core/src/testing/runs.ts';
import type { ActivitiesOptions } from '../activities/create-activities.ts';
import { millracePlugin } from '../plugin.ts';
import { temporalServerPath } from './temporal-server-path.ts';

interface TemporalTestServer {
  client(): Client;
  address(): string;
  bundle(): WorkflowBundleWithSourceMap;
  /** Returns the path of a file for a log that several processes share. */
  file(name: string): string;
  /**
   * Runs a worker in this process during `work`. `withWorkflows` runs only workflow code, and
   * `withWorker` runs everything.
   */
  withWorkflows<T>(taskQueue: string, work: () => Promise<T>): Promise<T>;
  withWorker<T>(options: TestWorkerOptions, work: () => Promise<T>): Promise<T>;
}

interface TestWorkerOptions extends ActivitiesOptions {
  readonly taskQueue: string;
  readonly activities?: object;
}

export const hasTemporalServer: boolean = spawnSync(temporalServerPath, ['--version']).status === 0;

/**
 * A test that needs the server. Without the server, the test is skipped. With MILLRACE_REQUIRE_ALL=1 it
 * fails instead.
 */
export const temporalTest: typeof test | typeof test.skip = (
  hasTemporalServer || process.env['MILLRACE_REQUIRE_ALL'] === '1' ? test : test.skip
) as typeof test;

/** Bundles workflow code as a worker does. All test files of a run share the result. */
export async function bundleWorkflows(workflowsPath: string): Promise<WorkflowBundleWithSourceMap> {
  const name = createHash('sha256').update(workflowsPath).digest('hex').slice(0, 16);
  const folder = sharedFolder('millrace-workflows');
  const file = join(folder, `${name}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const bundle = await bundleWorkflowCode({
    workflowsPath,
    plugins: [millracePlugin()],
    logger: new DefaultLogger('WARN'),
  });
  // The file is renamed, so another test process never reads an incomplete file.
  mkdirSync(folder, { recursive: true });
  const written = `${file}-${process.pid}`;
  writeFileSync(written, JSON.stringify(bundle));
  renameSync(written, file);
  return bundle;
}

/**
 * Options of a replay. The workflow code runs in the thread of the test, because a thread for each replay
 * costs 0.8 s of CPU. `npm run test:full` uses threads as in production, and so do all other workers.
 */
export const replayOptions: { readonly debugMode?: true } = isFull ? {} : { debugMode: true };

let isInstalled = false;

/** Installs the runtime once per process, for all test files. */
export function installRuntime(): void {
  if (!isInstalled) Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  isInstalled = true;
}

/** Starts a private Temporal server for the tests of a file. */
export function useTemporal(workflowsPath: string): TemporalTestServer {
  let env: TestWorkflowEnvironment | undefined;
  let bundle: WorkflowBundleWithSourceMap | undefined;
  let folder = '';
  const required = <T>(value: T | undefined): T => {
    if (value !== undefined) return value;
    throw new Error(`There is no Temporal server at ${temporalServerPath}: run npm run test:setup`);
  };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-temporal-'));
    if (!hasTemporalServer)
      return console.log('Skipped the tests that need a Temporal server: run npm run test:setup');
    installRuntime();
    const executable = { type: 'existing-path', path: temporalServerPath } as const;
    env = await TestWorkflowEnvironment.createLocal({ server: { executable } });
    bundle = await bundleWorkflows(workflowsPath);
  });
  afterAll(async () => {
    await env?.teardown();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    client: () => new Client({ connection: required(env).connection, plugins: [millracePlugin()] }),
    address: () => required(env).address,
    bundle: () => required(bundle),
    file: (name) => join(folder, name),
    withWorkflows: async (taskQueue, work) => {
      const connection = required(env).nativeConnection;
      const workflowBundle = required(bundle);
      return (await Worker.create({ connection, taskQueue, workflowBundle })).runUntil(work);
    },
    withWorker: async ({ taskQueue, activities, ...options }, work) => {
      const worker = await Worker.create({
        ...{ connection: required(env).nativeConnection, taskQueue },
        ...{ workflowBundle: required(bundle), ...(activities && { activities }) },
        plugins: [millracePlugin(options)],
        shutdownForceTime: 5_000,
      });
      return worker.runUntil(work);
    },
  };
}
