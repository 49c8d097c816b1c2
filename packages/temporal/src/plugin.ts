import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClientPlugin } from '@temporalio/client';
import type { BundleOptions, BundlerPlugin, WorkerPlugin } from '@temporalio/worker';
import { type ActivitiesOptions, createActivities } from './activities/create-activities.ts';
import { activityInterceptor, clientInterceptor } from './ids/current-ids.ts';

/** Has what a Worker, a Client and a bundler take as a plugin. */
export type MillracePlugin = Required<
  Pick<WorkerPlugin, 'name' | 'configureWorker' | 'configureReplayWorker'> &
    Pick<BundlerPlugin, 'configureBundler'> &
    Pick<ClientPlugin, 'configureClient'>
>;

/** Built, or as it was written. */
const extension = extname(import.meta.url);
const inWorkflow = (name: string) =>
  fileURLToPath(new URL(`./workflow/${name}${extension}`, import.meta.url));
const interceptorsPath = inWorkflow('interceptors');

/** The module of `agentWorkflow`, for workers that have no workflows of their own. */
export const workflowsPath: string = inWorkflow('index');

export interface MillracePluginOptions extends ActivitiesOptions {
  /** False for a worker that is for activities alone. */
  readonly hasWorkflows?: boolean | undefined;
}

/**
 * For `new Worker({ plugins: [millracePlugin({ agents })] })` and `new Client({ plugins: [millracePlugin()] })`:
 * the activities, the workflow where there is none, and the ids of task and trace on all ways.
 */
export function millracePlugin(options: MillracePluginOptions = {}): MillracePlugin {
  const { hasWorkflows = true } = options;
  const workflowsFor = (bundle: unknown) =>
    bundle === undefined && hasWorkflows ? { workflowsPath } : {};
  return {
    name: '@millrace/temporal',
    configureWorker(worker) {
      const { interceptors = {}, workflowBundle } = worker;
      return {
        ...{ ...workflowsFor(workflowBundle), ...worker },
        activities: { ...createActivities(options), ...worker.activities },
        interceptors: {
          ...interceptors,
          activity: [...(interceptors.activity ?? []), activityInterceptor],
          workflowModules: withOwn(interceptors.workflowModules),
        },
      };
    },
    configureReplayWorker(worker) {
      const { interceptors = {}, workflowBundle } = worker;
      const workflowModules = withOwn(interceptors.workflowModules);
      const own = workflowsFor(workflowBundle);
      return { ...own, ...worker, interceptors: { ...interceptors, workflowModules } };
    },
    configureBundler: (bundle) => ({
      ...bundle,
      workflowInterceptorModules: withOwn(bundle.workflowInterceptorModules),
      ...(extension === '.ts' && { webpackConfigHook: fromSources(bundle.webpackConfigHook) }),
    }),
    configureClient(client) {
      const { workflow = [] } = client.interceptors ?? {};
      const all = Array.isArray(workflow) ? [...workflow, clientInterceptor] : workflow;
      return { ...client, interceptors: { ...client.interceptors, workflow: all } };
    },
  };
}

function withOwn(modules: readonly string[] = []): string[] {
  return modules.includes(interceptorsPath) ? [...modules] : [...modules, interceptorsPath];
}

/** Where this is not built, nor are the packages that workflow code takes from. */
function fromSources(hook: BundleOptions['webpackConfigHook'] = (config) => config) {
  const conditionNames = ['@millrace/source', 'webpack', 'import', 'require', 'default'];
  return (config: Parameters<typeof hook>[0]): ReturnType<typeof hook> =>
    hook({ ...config, resolve: { ...config.resolve, conditionNames } });
}
