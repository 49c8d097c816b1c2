import type { JsonValue, Stop } from '@millrace/core';
import type { AgentInputItem, ModelRequest } from '@openai/agents';
import type { SdkResponse } from '../../response/to-response.ts';

/**
 * The activities of a workflow that runs an agent of the SDK. All inputs and results are plain
 * data.
 */
export interface AgentsActivities {
  /** Returns the conversation of the session as input for the SDK. */
  openaiAgentsHistory(input: HistoryInput): Promise<readonly AgentInputItem[]>;
  /** Streams a provider's answer to the log as the producer of the turn's request. */
  openaiAgentsRespond(input: RespondInput): Promise<Responded>;
  /** Requests an answer for an agent that is used as a tool. It is not logged. */
  openaiAgentsAsk(input: AskInput): Promise<Responded>;
  /** Produces the result of a call: with a tool of the worker, or from the workflow. */
  openaiAgentsCall(input: CallInput): Promise<CallOutput>;
}

export interface HistoryInput {
  readonly session: string;
  /** Return only these user items. Default: all items. */
  readonly ids?: readonly string[] | undefined;
}

/** A request without fields that are not data. */
export type PlainRequest = Omit<ModelRequest, 'signal'>;

export interface AskInput {
  /** Model name of the agent. Default: the default provider. */
  readonly model?: string | undefined;
  readonly request: PlainRequest;
}

export interface RespondInput extends AskInput {
  readonly session: string;
  readonly epoch: number;
  readonly turn: number;
}

export interface Responded {
  readonly stop: Stop;
  readonly response: SdkResponse;
}

/** Calls of an agent that is used as a tool have no location on the log and only run. */
export type CallInput =
  | { readonly name: string; readonly at: CallLocation; readonly work: CallWork }
  | { readonly name: string; readonly at?: undefined; readonly work: RunWork };

export interface CallLocation {
  readonly session: string;
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
  readonly toolCallId: string;
}

/** Run the worker's tool of that name. */
export interface RunWork {
  readonly do: 'run';
  readonly input: JsonValue;
}

export type CallWork =
  | RunWork
  /** The call ran in the workflow or was a hand-off. This is its result. */
  | { readonly do: 'record'; readonly output: JsonValue; readonly isError?: boolean | undefined };

export interface CallOutput {
  readonly text: string;
  readonly isError: boolean;
}

/** Maximum JSON size of an activity's input or result in bytes. Temporal accepts at most 2 MiB. */
export const maxJsonBytes = 1_500_000;

export function utf8Length(json: string): number {
  return new TextEncoder().encode(json).length;
}

/** Name of the agent that records these runs on the log. */
export const loggingAgentName = 'openai-agents';
