import type { JsonObject } from '@millrace/core';
import {
  defineQuery,
  defineSignal,
  type QueryDefinition,
  type SignalDefinition,
} from '@temporalio/workflow';
import type { StateAnswer, TranscriptAnswer } from '../contract/workflow-input.ts';

/** Whom a signal or a query means, where a workflow has several sessions; the first unless told. */
export interface Addressed {
  readonly session?: string | undefined;
}

/** Who, and what instead. */
export interface ApproveSignal extends Addressed {
  readonly toolCallId: string;
  readonly input?: JsonObject | undefined;
  readonly by?: string | undefined;
  readonly until?: number | 'session' | undefined;
}

export interface DenySignal extends Addressed {
  readonly toolCallId: string;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

type Said = string | readonly JsonObject[];

/** Is answered when the run would end, or starts one. */
export const messageSignal: SignalDefinition<[Said, Addressed?]> = defineSignal('message');
/** Joins the next request. */
export const steerSignal: SignalDefinition<[Said, Addressed?]> = defineSignal('steer');
/** Stops the run, and keeps what was said. */
export const interruptSignal: SignalDefinition<[string?, Addressed?]> = defineSignal('interrupt');
export const approveSignal: SignalDefinition<[ApproveSignal]> = defineSignal('approve');
export const denySignal: SignalDefinition<[DenySignal]> = defineSignal('deny');
/** Something was left on the session's log: look. */
export const wakeSignal: SignalDefinition<[Addressed?]> = defineSignal('wake');

export const transcriptQuery: QueryDefinition<TranscriptAnswer, [Addressed?]> =
  defineQuery('transcript');
export const stateQuery: QueryDefinition<StateAnswer, [Addressed?]> = defineQuery('state');
