import type { JsonValue, Stop } from '@millrace/core';
import type { AgentInputItem, ModelRequest } from '@openai/agents';
import type { SdkResponse } from '../../response/to-response.ts';

/** What a workflow that runs an agent of the SDK has done by activities. All of it is plain data. */
export interface AgentsActivities {
  /** What was said in the session so far, as the SDK's input. */
  openaiAgentsHistory(input: HistoryInput): Promise<readonly AgentInputItem[]>;
  /** Has a provider answer, and streams that to the log as the producer of the turn's request. */
  openaiAgentsRespond(input: RespondInput): Promise<Responded>;
  /** Has a provider answer, for an agent that is a tool: nobody watches it. */
  openaiAgentsAsk(input: AskInput): Promise<Responded>;
  /** Gives a call its result: by a tool of the worker, or as it was found in the workflow. */
  openaiAgentsCall(input: CallInput): Promise<CallOutput>;
}

export interface HistoryInput {
  readonly session: string;
  /** Only what users said, and of that only these; all that was said unless told. */
  readonly ids?: readonly string[] | undefined;
}

/** A request, without what is no data. */
export type PlainRequest = Omit<ModelRequest, 'signal'>;

export interface AskInput {
  /** As the agent names it. */
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

/** Calls of an agent that is a tool stand nowhere on the log: those only run. */
export type CallInput =
  | { readonly name: string; readonly at: CallPlace; readonly work: CallWork }
  | { readonly name: string; readonly at?: undefined; readonly work: RunWork };

export interface CallPlace {
  readonly session: string;
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
  readonly toolCallId: string;
}

/** The worker's tool of that name runs. */
export interface RunWork {
  readonly do: 'run';
  readonly input: JsonValue;
}

export type CallWork =
  | RunWork
  /** It ran in the workflow, or handed over: this is what came of it. */
  | { readonly do: 'record'; readonly output: JsonValue; readonly isError?: boolean | undefined };

export interface CallOutput {
  readonly text: string;
  readonly isError: boolean;
}

/** Of the JSON of what goes to an activity or comes from it, in bytes: Temporal takes no more than 2 MiB. */
export const maxJsonBytes = 1_500_000;

export function bytesOf(json: string): number {
  return new TextEncoder().encode(json).length;
}

/** The name of the agent that keeps the books of such runs on the log. */
export const bookkeeper = 'openai-agents';
