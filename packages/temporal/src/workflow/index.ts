export type { Sent } from '../contract/activities.ts';
export type {
  AgentWorkflowInput,
  AgentWorkflowOptions,
  AgentWorkflowResult,
  Carried,
  StateAnswer,
  TranscriptAnswer,
} from '../contract/workflow-input.ts';
export { AgentSession } from './agent-session.ts';
export { agentWorkflow } from './agent-workflow.ts';
export { type AutoSendOptions, autoSend, type Plan, runTools, runTurn } from './blocks.ts';
export { continueWhenFull } from './continue-when-full.ts';
export { listenTo } from './listen-to.ts';
export type {
  AdvanceSessionOptions,
  AgentSessionOptions,
  CallsPlan,
  OnPlan,
  RequestPlan,
  RunSessionOptions,
} from './session-options.ts';
export {
  type Addressed,
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
