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
  /** Requests an answer for an agent that is used as a tool. The log does not contain this answer. */
  openaiAgentsAsk(input: AskInput): Promise<Responded>;
  /**
   * Produces the result of a call: it runs a tool of the worker, or records a result that the workflow
   * passes.
   */
  openaiAgentsCall(input: CallInput): Promise<CallOutput>;
}

export interface HistoryInput {
  readonly session: string;
  /** If set, only the user items with these ids are returned. Default: all items. */
  readonly ids?: readonly string[] | undefined;
}

/** A request that contains only plain data. */
export type PlainRequest = Omit<ModelRequest, 'signal'>;

export interface AskInput {
  /** The model name of the agent. Default: the default provider is used. */
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

/**
 * The input of a call. The calls of an agent that is used as a tool are not on the log, so their results are
 * not recorded.
 */
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

/** Work that runs the worker's tool with that name. */
export interface RunWork {
  readonly do: 'run';
  readonly input: JsonValue;
}

export type CallWork =
  | RunWork
  /** Work that only records a result, because the call ran in the workflow or was a hand-off. */
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

/** The name of the agent that records these runs on the log. */
export const loggingAgentName = 'openai-agents';
