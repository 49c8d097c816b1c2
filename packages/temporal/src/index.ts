export { type ActivitiesOptions, createActivities } from './activities/create-activities.ts';
export { type WorkflowAgentOptions, workflowAgent } from './client/workflow-agent.ts';
export type { MillraceActivities, SentAnswer } from './contract/activities.ts';
export type {
  AgentWorkflowInput,
  AgentWorkflowOptions,
  AgentWorkflowResult,
  StateAnswer,
  TranscriptAnswer,
} from './contract/agent-workflow.ts';
export { currentIds, withIds } from './ids/current-ids.ts';
export type { PropagatedIds } from './ids/id-header.ts';
export {
  type MillracePlugin,
  type MillracePluginOptions,
  millracePlugin,
  workflowsPath,
} from './plugin.ts';
