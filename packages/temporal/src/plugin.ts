import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClientPlugin } from '@temporalio/client';
import type { BundleOptions, BundlerPlugin, WorkerPlugin } from '@temporalio/worker';
import { type ActivitiesOptions, createActivities } from './activities/create-activities.ts';
import { activityInterceptor, clientInterceptor } from './ids/current-ids.ts';
import { assertKnownOptions } from './known-options.ts';

/** A plugin for a Worker, a Client and a bundler. */
export type MillracePlugin = Required<
  Pick<WorkerPlugin, 'name' | 'configureWorker' | 'configureReplayWorker'> &
    Pick<BundlerPlugin, 'configureBundler'> &
    Pick<ClientPlugin, 'configureClient'>
>;

/** The extension of this file: `.ts` when run from sources, `.js` when built. */
const extension = extname(import.meta.url);
const workflowFile = (name: string) =>
  fileURLToPath(new URL(`./workflow/${name}${extension}`, import.meta.url));
const interceptorsPath = workflowFile('interceptors');

/** The path of the module with `agentWorkflow`, for workers without their own workflows. */
export const workflowsPath: string = workflowFile('index');

/** Options of `millracePlugin`. */
export interface MillracePluginOptions extends ActivitiesOptions {
  /** False for a worker that only runs activities. Default: true. */
  readonly hasWorkflows?: boolean | undefined;
}

/**
 * Creates the plugin for `new Worker({ plugins: [millracePlugin({ agents })] })` and `new Client({
 * plugins: [millracePlugin()] })`. The plugin adds the activities and a default workflow. It also
 * propagates task and trace ids.
 */
export function millracePlugin(options: MillracePluginOptions = {}): MillracePlugin {
  assertKnownOptions('millracePlugin', options, {
    ...{ hasWorkflows: true, agents: true, providers: true, log: true },
  });
  const { hasWorkflows = true, ...activities } = options;
  const workflowsFor = (bundle: unknown) =>
    bundle === undefined && hasWorkflows ? { workflowsPath } : {};
  return {
    name: '@millrace/temporal',
    configureWorker(worker) {
      const { interceptors = {}, workflowBundle } = worker;
      return {
        ...{ ...workflowsFor(workflowBundle), ...worker },
        activities: { ...createActivities(activities), ...worker.activities },
        interceptors: {
          ...interceptors,
          activity: [...(interceptors.activity ?? []), activityInterceptor],
          workflowModules: withIdInterceptors(interceptors.workflowModules),
        },
      };
    },
    configureReplayWorker(worker) {
      const { interceptors = {}, workflowBundle } = worker;
      const workflowModules = withIdInterceptors(interceptors.workflowModules);
      const own = workflowsFor(workflowBundle);
      return { ...own, ...worker, interceptors: { ...interceptors, workflowModules } };
    },
    configureBundler: (bundle) => ({
      ...bundle,
      workflowInterceptorModules: withIdInterceptors(bundle.workflowInterceptorModules),
      ...(extension === '.ts' && {
        webpackConfigHook: resolveFromSources(bundle.webpackConfigHook),
      }),
    }),
    configureClient(client) {
      const { workflow = [] } = client.interceptors ?? {};
      const all = Array.isArray(workflow) ? [...workflow, clientInterceptor] : workflow;
      return { ...client, interceptors: { ...client.interceptors, workflow: all } };
    },
  };
}

function withIdInterceptors(modules: readonly string[] = []): string[] {
  return modules.includes(interceptorsPath) ? [...modules] : [...modules, interceptorsPath];
}

/**
 * Returns a webpack hook. If this package runs from its sources, the hook resolves the imports of workflow
 * code from sources too.
 */
function resolveFromSources(hook: BundleOptions['webpackConfigHook'] = (config) => config) {
  const conditionNames = ['@millrace/source', 'webpack', 'import', 'require', 'default'];
  return (config: Parameters<typeof hook>[0]): ReturnType<typeof hook> =>
    hook({ ...config, resolve: { ...config.resolve, conditionNames } });
}
