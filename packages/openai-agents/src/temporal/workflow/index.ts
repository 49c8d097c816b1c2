export type { ActivityTimeouts } from './activities.ts';
export { type ActivityToolOptions, activityTool } from './activity-tool.ts';
export { type RunAgentOptions, runAgent } from './run-agent.ts';
