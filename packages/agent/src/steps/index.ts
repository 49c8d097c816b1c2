export { toItems } from '../input/run-input.ts';
export {
  approveCommand,
  denyCommand,
  readPendingApprovals,
  submitDecision,
  toolOutputCommand,
} from '../input/submit-command.ts';
export { readPendingToolCalls, submitToolResult } from '../input/tool-results.ts';
export { encodeItems, startsQueuedInput } from '../state/commands.ts';
export { runStreams } from '../views/run-streams.ts';
export { createRunResult, type RunEventSource, type RunOutcome } from '../views/run-views.ts';
export { type AdvanceOptions, advance } from './advance.ts';
export { type CallStepOptions, type CallStepResult, callStep } from './call-step.ts';
export { type Claim, type HeldSession, type HoldStepOptions, holdStep } from './claim.ts';
export {
  type CommandStepOptions,
  type CommandStepResult,
  commandStep,
  type SubmitStepOptions,
  submitStep,
} from './command-steps.ts';
export type { StepSignals } from './open-step.ts';
export type { AdvanceResult, Plan, PlannedCall, RunEnd } from './plan.ts';
export { type RequestStepOptions, type RequestStepResult, requestStep } from './request-step.ts';
export type { FinishedItem, ItemReference } from './settled-items.ts';
