import type { Advanced, Called, Heard, Requested, RunEnd, Settled } from '@millrace/agent/steps';
import type { JsonObject, ToolCallId } from '@millrace/core';

/** What a workflow has done by activities: the steps of an agent's run. All of it is plain data. */
export interface MillraceActivities {
  /** Leaves a command on the session's log, once for each key. */
  millraceSubmit(input: SubmitInput): Promise<void>;
  /** Aborts and decisions are heard, and are facts from then on. */
  millraceHear(input: HearInput): Promise<Heard>;
  /** Drives the run to the next thing that is to be done elsewhere. */
  millraceAdvance(input: AdvanceInput): Promise<Advanced>;
  /** Streams a model's answer to the log. */
  millraceRequest(input: RequestInput): Promise<Requested>;
  /** Runs a tool. */
  millraceCall(input: CallInput): Promise<Called>;
  /** Has a provider answer, and streams that to the log: a whole run in one. */
  millraceAutoSend(input: AutoSendInput): Promise<Sent>;
}

interface OfAgent {
  readonly agent: string;
  readonly session: string;
}

interface SubmitInput extends OfAgent, OfLife {
  readonly command: JsonObject;
  readonly key: string;
}

interface HeldInput extends OfAgent {
  readonly epoch: number;
}

interface HearInput extends HeldInput, OfLife {}

/** The session that is meant, where it is known: not another that has its name since. */
interface OfLife {
  readonly createdAt?: number | undefined;
}

/** Whose the session is: one life of a workflow, and how often it has advanced. */
export interface OwnerInput {
  readonly owner: string;
  readonly life: string;
  readonly step: number;
}

interface AdvanceInput extends OfAgent, OfLife, OwnerInput {
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

/** What came of a streamed answer. */
export interface Sent extends Pick<RunEnd, 'stop' | 'text' | 'usage' | 'error'> {
  readonly session: string;
  /** What is new in the transcript. */
  readonly messages: readonly Settled[];
}
