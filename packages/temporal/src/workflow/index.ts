export type { SentAnswer } from '../contract/activities.ts';
export type {
  AdvanceSessionOptions,
  AgentSessionOptions,
  AgentWorkflowInput,
  AgentWorkflowOptions,
  AgentWorkflowResult,
  ContinuationState,
  OnPlan,
  RequestPlan,
  RunSessionOptions,
  StateAnswer,
  ToolCallsPlan,
  TranscriptAnswer,
} from '../contract/agent-workflow.ts';
export { AgentSession } from './agent-session.ts';
export { agentWorkflow, continueWhenFull } from './agent-workflow.ts';
export {
  type AutoSendOptions,
  autoSend,
  type Plan,
  runTools,
  runTurn,
  type WorkflowProvider,
  workflowProvider,
} from './auto-send.ts';
export {
  type ApproveSignal,
  approveSignal,
  type DenySignal,
  denySignal,
  interruptSignal,
  listenTo,
  messageSignal,
  type SessionTarget,
  stateQuery,
  steerSignal,
  transcriptQuery,
  wakeSignal,
} from './signals.ts';
