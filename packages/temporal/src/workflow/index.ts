export type { Sent } from '../contract/activities.ts';
export type {
  AgentWorkflowInput,
  AgentWorkflowOptions,
  AgentWorkflowResult,
  Carried,
  StateAnswer,
  TranscriptAnswer,
} from '../contract/workflow-input.ts';
export {
  type AdvanceSessionOptions,
  AgentSession,
  type AgentSessionOptions,
  type CallsPlan,
  type RequestPlan,
  type RunSessionOptions,
} from './agent-session.ts';
export { agentWorkflow } from './agent-workflow.ts';
export { type AutoSendOptions, autoSend, type Plan, runTools, runTurn } from './blocks.ts';
export {
  type ApproveSignal,
  approveSignal,
  type DenySignal,
  denySignal,
  interruptSignal,
  messageSignal,
  stateQuery,
  steerSignal,
  transcriptQuery,
  wakeSignal,
} from './signals.ts';
export { type WorkflowProvider, workflowProvider } from './workflow-provider.ts';
