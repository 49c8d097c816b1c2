export { type AdvanceOptions, advance } from './advance.ts';
export { type Called, type CallStepOptions, callStep } from './call-step.ts';
export { type Claim, type HeldSession, type HoldStepOptions, holdStep } from './claim.ts';
export {
  type Heard,
  type HearStepOptions,
  hearStep,
  type SubmitStepOptions,
  submitStep,
} from './command-steps.ts';
export type { StepSignals } from './open-step.ts';
export type { Advanced, Plan, PlannedCall, RunEnd } from './plan.ts';
export { type Requested, type RequestStepOptions, requestStep } from './request-step.ts';
export type { ItemReference, Settled } from './settled-items.ts';
