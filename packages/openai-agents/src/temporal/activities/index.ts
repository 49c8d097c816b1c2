export type { AgentsActivities } from '../contract/agents-activities.ts';
export { withAgentsSdk } from '../sandbox/with-agents-sdk.ts';
export { createAgentsActivities } from './create-agents-activities.ts';
export type { AgentsActivitiesOptions } from './logging-agent.ts';
export { type OpenaiAgentsPluginOptions, openaiAgentsPlugin } from './openai-agents-plugin.ts';
export type {
  WorkerTool,
  WorkerToolContext,
  WorkerToolFunction,
  WorkerToolOptions,
} from './worker-tool.ts';
