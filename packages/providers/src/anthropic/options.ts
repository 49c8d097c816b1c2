import type { OptionNames } from '@millrace/core';
import type { AnthropicTool } from '../contract/hosted-tools.ts';
import type { ModelEffort, ModelInfo } from '../contract/model-info.ts';
import type { Uploads } from '../contract/uploads.ts';
import { type ApiOptions, apiOptionNames } from '../wire/api-options.ts';

/** Options of `anthropic`. */
export interface AnthropicOptions extends ApiOptions {
  /** A bearer token instead of an API key, for gateways. Default: none. */
  readonly authToken?: string | undefined;
  /** The API version. Default: `2023-06-01`. */
  readonly version?: string | undefined;
  /**
   * Names of beta features for the `anthropic-beta` header. Those that the history needs are added.
   * Default: none.
   */
  readonly betas?: readonly string[] | undefined;
  /**
   * Maximum number of tokens of thinking and answer together, if the request does not set it.
   * Default: the model's own maximum, but at most 64,000. For unknown models: 4,096.
   */
  readonly maxTokens?: number | undefined;
  /** How to request thinking. Default: as the table of models says. */
  readonly thinking?: ModelTraits['thinking'] | undefined;
  /** How to request output with a schema. Default: as the table of models says. */
  readonly structuredOutput?: ModelTraits['structuredOutput'] | undefined;
  /**
   * Whether instructions inside the conversation are sent as system messages. Bedrock, Vertex AI
   * and gateways may reject them. Default: as the table of models says, and false with a `baseUrl`.
   */
  readonly systemMessages?: boolean | undefined;
  /**
   * Tools in the format of the API. Some run at Anthropic, such as `{ type: 'web_search_20250305',
   * name: 'web_search' }`. For others, Anthropic defines only the format. A tool replaces the
   * request's tool of the same name. Default: none.
   */
  readonly extraTools?: readonly AnthropicTool[] | undefined;
  /**
   * If true, arguments stream as the model writes them, instead of value by value. They can turn
   * out to be invalid JSON. Default: false.
   */
  readonly eagerInputStreaming?: boolean | undefined;
  /**
   * Uploads large attachments once, and requests then contain only their ids. Create it with
   * `createUploads`. Default: each request contains the attachments.
   */
  readonly uploads?: Uploads | undefined;
}

/** The names of the options of `anthropic`. */
export const anthropicOptionNames: OptionNames<AnthropicOptions> = {
  ...apiOptionNames,
  authToken: true,
  version: true,
  betas: true,
  maxTokens: true,
  thinking: true,
  structuredOutput: true,
  systemMessages: true,
  extraTools: true,
  eagerInputStreaming: true,
  uploads: true,
};

/** The options of a provider, with the traits of its model. */
export interface AnthropicModel extends AnthropicOptions {
  /** The provider's id. It contains the host name if the server is not Anthropic's. */
  readonly id: string;
  readonly traits: ModelTraits;
}

/** How the API of a model differs from that of other models. */
export interface ModelTraits {
  /**
   * `adaptive`: thinking is requested by effort. `budget`: by a number of tokens. `none`: the model
   * cannot think.
   */
  readonly thinking: 'adaptive' | 'budget' | 'none';
  /** Whether the model can answer without thinking. */
  readonly canStopThinking: boolean;
  /** Whether the model accepts `temperature` and `top_p`. */
  readonly takesTemperature: boolean;
  /**
   * `format`: the output is text in the requested format. `tool`: the output is the input of a tool
   * that the model must call.
   */
  readonly structuredOutput: 'format' | 'tool';
  /**
   * Whether the model accepts instructions as system messages inside the conversation. Otherwise
   * they are part of a user turn.
   */
  readonly systemMessages: boolean;
  /** Whether the model continues an assistant message at the end of the conversation. */
  readonly prefill: boolean;
  /** Whether the model can be forced to call a tool. */
  readonly forcedTools: boolean;
  /** The levels of effort that the model accepts. */
  readonly efforts: readonly ModelEffort[];
  /**
   * The default for `max_tokens`, if neither the request nor the options set a value. It is never
   * higher than the model's limit.
   */
  readonly maxTokens: number;
}

/** The highest default for `max_tokens`. A model can allow more. */
const maxDefaultTokens = 64_000;

/**
 * The default of `max_tokens` for unknown models. The API requires a value. A server rejects a
 * value that exceeds its context, which is often 8,192 tokens.
 */
const unknownMaxTokens = 4096;

const commonLevels: readonly ModelEffort[] = ['low', 'medium', 'high'];

/**
 * Returns the traits of a model from the table of models. For an unknown model, the traits are
 * those of an early version of the API.
 */
export function traitsOf(info: ModelInfo): ModelTraits {
  return {
    thinking: thinkingOf(info),
    canStopThinking: info.alwaysThinks !== true,
    takesTemperature: info.sampling !== 'never',
    structuredOutput: info.outputSchema === true ? 'format' : 'tool',
    systemMessages: info.systemMessages === true,
    prefill: info.prefill ?? true,
    forcedTools: info.forcedTools ?? true,
    efforts: info.efforts ?? commonLevels,
    maxTokens: Math.min(info.maxOutputTokens ?? unknownMaxTokens, maxDefaultTokens),
  };
}

function thinkingOf({ reasons, thinking }: ModelInfo): ModelTraits['thinking'] {
  if (reasons === false) return 'none';
  return thinking === 'effort' ? 'adaptive' : 'budget';
}
