import { type ActivitiesOptions, type MillracePlugin, millracePlugin } from '@millrace/temporal';
import { assertKnownOptions } from '../../known-options.ts';
import { withAgentsSdk } from '../sandbox/with-agents-sdk.ts';
import { createAgentsActivities } from './create-agents-activities.ts';
import {
  type AgentsActivitiesOptions,
  activitiesOptionNames,
  loggingAgent,
} from './logging-agent.ts';

/**
 * Options of `openaiAgentsPlugin`. The options can also contain Millrace agents, because this plugin replaces
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
  assertKnownOptions('openaiAgentsPlugin', options, { ...activitiesOptionNames, agents: true });
  const { agents = [], ...own } = options;
  const { log, providers } = own;
  const base = millracePlugin({ agents: [...agents, loggingAgent(own)], log, providers });
  const activities = createAgentsActivities(own);
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
