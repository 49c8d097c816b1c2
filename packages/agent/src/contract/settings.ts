import type {
  Cost,
  Ids,
  Item,
  JsonObject,
  JsonValue,
  LogRecord,
  SessionId,
  ToolCallPart,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type {
  Clock,
  ModelRequest,
  OutputSchema,
  Provider,
  ProviderErrorKind,
} from '@millrace/providers';
import type { Guardrail } from './guardrail.ts';
import type { Observer } from './observer.ts';
import type { CheckedToolCall, StepInfo, Tool, ValidationResult } from './tool.ts';

/** The decision on a tool call: it runs, needs an approval, or is denied. */
export type Approval = 'allow' | 'ask' | 'deny';

/** The return value of an `approve` policy. */
export type ApprovalDecision =
  | Approval
  | {
      readonly decision: Approval;
      readonly reason?: string | undefined;
      /**
       * The rule that groups similar calls. If the user approves a call with `until`, the approval also
       * covers later calls of the same agent with the same rule.
       */
      readonly rule?: string | undefined;
      /**
       * The text that the policy decided on, if its meaning can change before the call runs. An example is
       * the real path of a file. The tool gets this text as `ToolContext.judged` and must refuse to work on
       * anything else.
       */
      readonly judged?: string | undefined;
    };

/** The complete settings of an agent, with all defaults applied. */
export interface Settings {
  readonly name: string;
  /** The version of the agent, which the log stores with each request. */
  readonly version: string | undefined;
  /** The main provider, followed by the fallbacks. */
  readonly providers: readonly Provider[];
  /**
   * The agent's fixed tools. During a step, the map also contains the tools that the functions in `stepTools`
   * return.
   */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Functions that return additional tools for each step. */
  readonly stepTools: readonly StepTools[];
  readonly instructions: Instructions;
  readonly request: RequestOptions;
  readonly prepareStep:
    | ((step: StepToPrepare, settings: Settings) => Promise<ResolvedStep>)
    | undefined;
  readonly stopWhen: readonly StopCondition[];
  readonly guardrails: readonly Guardrail[];
  readonly output: Output | undefined;
  readonly log: Log;
  readonly observers: readonly Observer[];
  readonly approve: (
    call: CheckedToolCall,
    step: StepInfo,
  ) => ApprovalDecision | Promise<ApprovalDecision>;
  /**
   * Resolves when the loop may reject a call with a missing tool or a wrong input. A replay uses it: if the
   * recorded run was stopped before the call was rejected, the promise does not resolve.
   */
  readonly beforeRejection?: ((call: ToolCallPart) => Promise<void>) | undefined;
  /**
   * The session whose sub-agents the run continues. A replay sets it for records that a fork copied from another
   * session. Default: the session of the run.
   */
  readonly owner?: SessionId | undefined;
  /**
   * Decides what a run does while a call needs an approval. `wait`: the run stays alive. `park`: the run ends
   * with the reason `parked`. A parked session continues when it is resumed.
   */
  readonly whileAsking: 'wait' | 'park';
  /**
   * Decides about the forms of tools. `ask`: the user sees the form. `decline`: the tool gets the answer that
   * the user declined.
   */
  readonly forms: 'ask' | 'decline';
  readonly compaction: Compaction | undefined;
  readonly contextFilters: readonly ContextFilter[];
  readonly cache: CacheSettings;
  readonly limits: Limits;
  readonly retry: RetrySettings;
  readonly onInterrupted: 'keep' | 'retry';
  readonly clock: Clock;
  readonly ids: Ids;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly onDiagnostic: (problem: string, record?: LogRecord) => void;
  /**
   * True if the run fetches records of other writers also while one of its writes is in progress. A replay
   * needs it, because it stores some writes only after these records were fetched. Default: false.
   */
  readonly fetchesWhileWriting?: boolean | undefined;
}

/**
 * The system prompt, or a function that returns it for the items of a request. To declare the type of the
 * run's context, annotate the second parameter: `StepInfo<Desk>`.
 */
export type Instructions<Context = unknown> =
  | string
  | undefined
  | ((
      transcript: readonly Item[],
      step: StepInfo<Context>,
    ) => string | undefined | Promise<string | undefined>);

/** The argument of `prepareStep`: the step, and the items of its request. */
export interface StepToPrepare<Context = unknown> extends StepInfo<Context> {
  /** The number of steps that this run has finished. It is 0 for the first request. */
  readonly step: number;
  /** The items that the request would contain, without the instructions. */
  readonly items: readonly Item[];
  /**
   * The model that a branch of a session names. It stays in use until the metadata of an input has another
   * `model`. Default: none.
   */
  readonly model?: string | undefined;
}

/**
 * Returns additional tools for one step. The run calls the function before each step, and again if a process
 * continues an interrupted step. The function cannot return hand-offs. Hand-offs must be in the agent's fixed
 * list of tools.
 */
export type StepTools<Tools extends Tool = Tool, Context = unknown> = (
  step: StepToPrepare<Context>,
) => readonly Tools[] | Promise<readonly Tools[]>;

/** The changes that `prepareStep` makes in one step. For missing fields, the settings of the agent apply. */
export interface PreparedStep {
  /** The provider, with its model. If this provider fails, the run falls back to the agent's providers. */
  readonly provider?: Provider | undefined;
  /**
   * The names of the tools that the model can call in this step. Calls of other tools are rejected. Default:
   * all tools of the agent.
   */
  readonly tools?: readonly string[] | undefined;
  /** Replaces the agent's instructions in this step. */
  readonly instructions?: string | undefined;
  /** Replaces the items of the request. The transcript does not change. */
  readonly items?: readonly Item[] | undefined;
  /** Request options for this step, such as `toolChoice`. They replace the agent's options. */
  readonly request?: RequestOptions | undefined;
}

/** The validated changes that `prepareStep` makes in a step. */
export interface ResolvedStep {
  /** The provider of the step, followed by its fallbacks. */
  readonly providers?: readonly Provider[] | undefined;
  /** The names of the offered tools, in the agent's order of tools. Undefined means all tools. */
  readonly tools?: readonly string[] | undefined;
  readonly instructions?: string | undefined;
  readonly items?: readonly Item[] | undefined;
  readonly request?: RequestOptions | undefined;
  /** The schema of the answer that the caller asked for. Undefined means the agent's schema. */
  readonly output?: OutputSchema | undefined;
}

/** The state of a run that `stopWhen` gets. It depends only on the log. */
export interface StopCheck {
  /** The number of steps that the run has finished. */
  readonly steps: number;
  /** The answers and tool results of the run, without its input. */
  readonly items: readonly Item[];
}

/**
 * Decides before each further request whether the run ends. To end the run, the function returns true, or a
 * text that the log stores as the cause. The function must depend only on its argument, so that a resumed or
 * replayed run ends at the same step.
 */
export type StopCondition = (run: StopCheck) => boolean | string | undefined;

/** Options that are copied into every request. */
export type RequestOptions = Omit<ModelRequest, 'items' | 'tools' | 'output'>;

/** Limits of a run. A run that reaches a limit ends with the stop reason `limit`. */
export interface Limits {
  /** Maximum number of turns. Default: 100. */
  readonly maxTurns: number;
  /** Maximum number of input and output tokens of a run, summed over all attempts. Default: no limit. */
  readonly maxTokens: number;
  /**
   * Maximum cost of a run. Each provider must have prices in this currency, or report its costs. For
   * prices, pass `models` of `@millrace/providers/models` to the provider. Default: no limit.
   */
  readonly maxCost: Cost | undefined;
  /**
   * Allows `maxCost` although the price of a model is unknown. The cost of that model's answers is then not
   * counted. Default: false.
   */
  readonly allowUnknownPrices: boolean;
  /** Maximum number of tools that run at the same time. Default: 8. */
  readonly maxParallelTools: number;
  /** Maximum number of consecutive turns that make the identical call. Default: 5. */
  readonly maxRepeats: number;
}

/** Settings for repeating failed requests. */
export interface RetrySettings {
  /** Maximum number of attempts to send one request to one provider. Default: 4. */
  readonly maxAttempts: number;
  /**
   * Overrides `maxAttempts` for some kinds of errors, for example to retry network errors more often.
   * Default: none.
   */
  readonly attemptsFor?: { readonly [Kind in ProviderErrorKind]?: number } | undefined;
  /**
   * The delay before the second attempt. Each further delay is twice as long as the previous one. Default: 1
   * s.
   */
  readonly baseDelayMs: number;
  /**
   * Maximum delay between attempts. If a provider asks for a longer delay, the request is not retried.
   * Default: 60 s.
   */
  readonly maxDelayMs: number;
  /** The time to wait for a tool or a stream after its signal is aborted. Default: 5 s. */
  readonly toolGraceMs: number;
}

/** The settings for compaction, which shortens the context of requests. The transcript does not change. */
export interface Compaction {
  /** The run compacts the context when the last request and its answer together used this many tokens. */
  readonly whenTokens: number;
  /**
   * The number of most recent steps that stay unchanged. A step is an input, or an answer with the results of
   * its calls. At least 1, because a request must contain the input that it answers. Default: 6.
   */
  readonly keepSteps: number;
  /**
   * The prompt for the summary. `false` drops old items without a summary. Default: a prompt that asks for
   * the requests, the decisions, the completed work and the remaining work.
   */
  readonly summarize?: string | false | undefined;
  /**
   * Returns a text that each summary must contain, such as the open tasks. It gets the items of the context
   * before the compaction, including an earlier summary, and is added to the end of the summary. It must
   * depend only on its argument. Default: none.
   */
  readonly keep?: ((items: readonly Item[]) => string | undefined) | undefined;
}

/**
 * Decides if requests mark their prefix so that the provider caches it for the next request. `auto` uses the
 * provider's usual cache lifetime. An object sets the lifetime: `5m` for about 5 minutes, `1h` for an hour or
 * more.
 */
export type CacheOption = 'auto' | 'off' | Exclude<CacheSettings, 'off'>;

/** The prompt cache settings of an agent. */
export type CacheSettings = 'off' | { readonly ttl: '5m' | '1h' };

/**
 * A function that returns the items to send to a model. It gets the context items. The transcript does not
 * change.
 */
export type ContextFilter = (items: readonly Item[]) => readonly Item[];

/** The `output` schema for an agent's answers. */
export interface Output {
  /** The JSON Schema that the model gets. */
  readonly schema: JsonObject;
  check(value: JsonValue | undefined): Promise<ValidationResult>;
}

/**
 * The options that a caller sends with a message, for example through the OpenAI-compatible endpoints of the
 * server. The log stores them in the metadata of the user's item, under the name `caller`. They apply until
 * the next item of a user.
 */
export interface CallerOptions {
  /** Tools that the caller runs. Their calls wait until the caller sends the outputs. Default: none. */
  readonly tools?: readonly CallerTool[] | undefined;
  /** Instructions that are sent after the instructions of the agent. Default: none. */
  readonly instructions?: string | undefined;
  /** Options of the model requests. They replace the options of the agent. Default: none. */
  readonly request?: CallerRequest | undefined;
  /** The schema of the answer. Default: the schema of the agent. */
  readonly output?: OutputSchema | undefined;
}

/** A tool that the caller runs. */
export interface CallerTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the input. Default: an object without properties. */
  readonly parameters?: JsonObject | undefined;
  readonly strict?: boolean | undefined;
}

/** The options of model requests that a caller can set. */
export type CallerRequest = Pick<
  RequestOptions,
  'toolChoice' | 'temperature' | 'topP' | 'maxOutputTokens' | 'reasoning' | 'stopSequences'
>;
