import type {
  Cost,
  Ids,
  Item,
  JsonObject,
  JsonValue,
  LogRecord,
  ToolCallPart,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Clock, ModelRequest, Provider, ProviderErrorKind } from '@millrace/providers';
import type { Observer } from './observer.ts';
import type { Tool, Validated } from './tool.ts';

export type Approval = 'allow' | 'ask' | 'deny';

/** What is asked of a policy, and of a person. */
export interface PendingCall {
  readonly call: ToolCallPart;
  readonly tool: Tool;
  /** As the tool will get it. */
  readonly input: unknown;
  readonly summary: string;
}

export type ApprovalDecision =
  | Approval
  | {
      readonly decision: Approval;
      readonly reason?: string | undefined;
      /** What an answer that lasts would be about: calls that are asked about by the same one. */
      readonly rule?: string | undefined;
    };

/** All that an agent goes by, with nothing left open. */
export interface Settings {
  readonly name: string;
  /** The first, then those that are tried when it fails. */
  readonly providers: readonly Provider[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly instructions: Instructions;
  readonly request: RequestOptions;
  readonly output: Output | undefined;
  readonly log: Log;
  readonly observers: readonly Observer[];
  readonly approve: (call: PendingCall) => ApprovalDecision | Promise<ApprovalDecision>;
  /** Whether a run waits for a person, or ends as `parked` until somebody answered. */
  readonly whileAsking: 'wait' | 'park';
  readonly compaction: Compaction | undefined;
  readonly contextFilters: readonly ContextFilter[];
  readonly limits: Limits;
  readonly retry: RetrySettings;
  readonly onInterrupted: 'keep' | 'retry';
  readonly clock: Clock;
  readonly ids: Ids;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly onDiagnostic: (problem: string, record?: LogRecord) => void;
}

export type Instructions =
  | string
  | undefined
  | ((transcript: readonly Item[]) => string | undefined | Promise<string | undefined>);

/** What goes into every request as it is. */
export type RequestOptions = Omit<ModelRequest, 'items' | 'tools' | 'output'>;

export interface Limits {
  readonly maxTurns: number;
  /** Of all attempts of a run together, in and out. */
  readonly maxTokens: number;
  /** The same in money; what a provider does not tell the price of is not counted. */
  readonly maxCost: Cost | undefined;
  readonly maxParallelTools: number;
  /** So often may the same call, with the same arguments, be made in turns that follow each other. */
  readonly maxRepeats: number;
}

export interface RetrySettings {
  /** Tries at one request with one provider. */
  readonly maxAttempts: number;
  /** The same for some kinds of errors: a network that is away may come back. */
  readonly attemptsFor?: { readonly [Kind in ProviderErrorKind]?: number } | undefined;
  readonly baseDelayMs: number;
  /** A provider that asks for longer is not waited for. */
  readonly maxDelayMs: number;
  /** How long a tool that was told to stop is waited for. */
  readonly toolGraceMs: number;
}

/** When and how what a model is sent is made shorter. The transcript stays as it is. */
export interface Compaction {
  /** Of the last request and its answer, after which it is done. */
  readonly whenTokens: number;
  /** How many of the last steps stay: a question, or an answer with the results of its calls. */
  readonly keepSteps: number;
  /** What the model is asked for; false drops what is old without a word. */
  readonly summarize: string | false;
}

/** Makes what a model is sent shorter, without changing what was said. */
export type ContextFilter = (items: readonly Item[]) => readonly Item[];

/** What an agent's answers have to be like. */
export interface Output {
  /** As the model is told. */
  readonly schema: JsonObject;
  check(value: JsonValue | undefined): Promise<Validated>;
}
