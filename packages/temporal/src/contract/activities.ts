import type {
  AdvanceResult,
  CallStepResult,
  CommandStepResult,
  FinishedItem,
  RequestStepResult,
  RunEnd,
} from '@millrace/agent/steps';
import type { JsonObject, ToolCallId } from '@millrace/core';

/**
 * The activities of an agent workflow. Each activity is a step of a run. All inputs and results are plain
 * data.
 */
export interface MillraceActivities {
  /** Writes a command to the session's log. A repeated call with the same key has no effect. */
  millraceSubmit(input: SubmitInput): Promise<void>;
  /** Reads new aborts and approval decisions from the log and records them as facts. */
  millraceHear(input: HearInput): Promise<CommandStepResult>;
  /** Runs the loop up to the next model request or tool calls. */
  millraceAdvance(input: AdvanceInput): Promise<AdvanceResult>;
  /** Streams a model's answer to the log. */
  millraceRequest(input: RequestInput): Promise<RequestStepResult>;
  /** Runs a tool. */
  millraceCall(input: CallInput): Promise<CallStepResult>;
  /** Streams a provider's answer to the log. It is a whole run in one activity. */
  millraceAutoSend(input: AutoSendInput): Promise<SentAnswer>;
}

interface AgentInput {
  readonly agent: string;
  readonly session: string;
}

interface SubmitInput extends AgentInput, SessionIdentity {
  readonly command: JsonObject;
  readonly key: string;
}

interface HeldInput extends AgentInput {
  readonly epoch: number;
}

interface HearInput extends HeldInput, SessionIdentity {}

/** Identifies the session by its creation time. A new session with the same id does not match. */
interface SessionIdentity {
  readonly createdAt?: number | undefined;
}

/**
 * The owner of the session: one chain of workflow executions. It also contains the number of the current
 * step.
 */
export interface OwnerInput {
  readonly owner: string;
  readonly life: string;
  readonly step: number;
}

interface AdvanceInput extends AgentInput, SessionIdentity, OwnerInput {
  readonly runId: string;
  readonly keepsCut?: boolean | undefined;
  readonly ifAsked?: boolean | undefined;
  readonly items?: number | undefined;
}

interface RequestInput extends HeldInput {
  readonly turn: number;
}

interface CallInput extends HeldInput {
  readonly turn: number;
  readonly attempt: number;
  readonly toolCallId: ToolCallId;
}

export interface AutoSendInput {
  readonly owner: string;
  readonly provider: string;
  readonly session: string;
  readonly items: readonly JsonObject[];
  readonly instructions?: string | undefined;
  readonly runId: string;
  readonly key: string;
}

/** The result of a streamed answer. */
export interface SentAnswer extends Pick<RunEnd, 'stop' | 'text' | 'usage' | 'error'> {
  readonly session: string;
  /** The new items of the transcript. */
  readonly messages: readonly FinishedItem[];
}
