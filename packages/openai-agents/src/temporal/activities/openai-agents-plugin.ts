import { type ActivitiesOptions, type MillracePlugin, millracePlugin } from '@millrace/temporal';
import { withAgentsSdk } from '../sandbox/with-agents-sdk.ts';
import { createAgentsActivities } from './create-agents-activities.ts';
import { type AgentsActivitiesOptions, loggingAgent } from './logging-agent.ts';

/**
 * Options of `openaiAgentsPlugin`. It also accepts Millrace agents, because it replaces
 * `millracePlugin`.
 */
export interface OpenaiAgentsPluginOptions
  extends AgentsActivitiesOptions,
    Pick<ActivitiesOptions, 'agents'> {}

/**
 * Creates the plugin for `new Worker({ plugins: [openaiAgentsPlugin({ log, provider, tools })] })`.
 * It adds the activities for `runAgent`, a bundle that can load the SDK, and everything that
 * `millracePlugin` adds.
 */
export function openaiAgentsPlugin(options: OpenaiAgentsPluginOptions): MillracePlugin {
  const { agents = [], log, providers } = options;
  const base = millracePlugin({ agents: [...agents, loggingAgent(options)], log, providers });
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
