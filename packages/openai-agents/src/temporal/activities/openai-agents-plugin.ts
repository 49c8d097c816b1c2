import { type ActivitiesOptions, type MillracePlugin, millracePlugin } from '@millrace/temporal';
import { withAgentsSdk } from '../sandbox/with-agents-sdk.ts';
import { createAgentsActivities } from './create-agents-activities.ts';
import { type AgentsActivitiesOptions, bookkeeperOf } from './logging-agent.ts';

/** With agents of Millrace beside them: this plugin is in the place of `millracePlugin`. */
export interface OpenaiAgentsPluginOptions
  extends AgentsActivitiesOptions,
    Pick<ActivitiesOptions, 'agents'> {}

/**
 * For `new Worker({ plugins: [openaiAgentsPlugin({ log, provider, tools })] })`: the activities that
 * `runAgent` needs, a bundle that the SDK loads in, and all that `millracePlugin` does.
 */
export function openaiAgentsPlugin(options: OpenaiAgentsPluginOptions): MillracePlugin {
  const { agents = [], log, providers } = options;
  const base = millracePlugin({ agents: [...agents, bookkeeperOf(options)], log, providers });
  const activities = createAgentsActivities(options);
  return {
    ...base,
    name: '@millrace/openai-agents',
    configureWorker: (worker) =>
      base.configureWorker({ ...worker, activities: { ...activities, ...worker.activities } }),
    configureBundler: (given) => {
      const bundle = base.configureBundler(given);
      const { webpackConfigHook: own = (config) => config } = bundle;
      return { ...bundle, webpackConfigHook: (config) => own(withAgentsSdk(config)) };
    },
  };
}
